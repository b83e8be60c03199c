//! Due times of each process: their mean and variation over many seeds, and the exact first ones.

use super::*;
use crate::traffic::arrivals::{Listed, parse};

const RATE: f64 = 1_000.0;
const SEEDS: u64 = 1_000;

fn schedule(text: &str, seed: u64) -> Schedule {
    Schedule::new(&parse(text).unwrap(), RATE, seed)
}

fn first(text: &str, seed: u64, count: usize) -> Vec<u64> {
    let mut schedule = schedule(text, seed);
    let mut due = || {
        let due_ns = schedule.next_due_ns;
        schedule.advance();
        due_ns
    };
    (0..count).map(|_| due()).collect()
}

fn statistics_of(text: &str, seed: u64, until_ns: u64) -> Drawn {
    let (mut schedule, mut meter) = (schedule(text, seed), Meter::default());
    while schedule.next_due_ns < until_ns {
        meter.add(schedule.next_due_ns);
        schedule.advance();
    }
    meter.statistics(schedule.next_due_ns)
}

/// Mean, and its standard error, of a quantity over the seeds.
fn over_seeds(text: &str, seconds: u64, of: impl Fn(&Drawn) -> f64) -> (f64, f64) {
    let values: Vec<f64> = (0..SEEDS).map(|seed| of(&statistics_of(text, seed, seconds * 1_000_000_000))).collect();
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
    (mean, (variance / count).sqrt())
}

/// Asserts that a mean over the seeds lies within four standard errors, and a share for what windows and edges cost, of
/// the value of the formula.
#[track_caller]
fn assert_near(text: &str, seconds: u64, of: impl Fn(&Drawn) -> f64, expected: f64, edge: f64) {
    let (mean, error) = over_seeds(text, seconds, of);
    assert!((mean - expected).abs() <= 4.0 * error + edge * expected, "{text}: {mean} +- {error}, wanted {expected}");
}

#[test]
fn the_mean_rate_is_as_promised_over_a_thousand_seeds() {
    for text in [
        "poisson",
        "constant",
        "gamma:cv=0.5",
        "gamma:cv=3",
        "weibull:cv=0.5",
        "weibull:cv=3",
        "onoff:high=3000,low=100,mean-high=20ms,mean-low=50ms",
        r#"mmpp:{"rates": [3000, 200, 10], "generator": [[-50, 25, 25], [10, -20, 10], [5, 5, -10]]}"#,
        "burst:size=20,every=25ms",
        "burst:size=20,every=25ms,gaps=exponential",
        "stages:500x1s,2000x1s",
        "ramp:from=100,to=1900,over=2s",
        "ramp:from=100,to=1900,over=2s,growth=exponential",
        "sine:mean=800,amplitude=700,period=500ms",
        "sine:mean=800,amplitude=800,period=500ms,gaps=even",
    ] {
        let expected = parse(text).unwrap().promise(RATE).rate_per_s;
        let edge = if text.contains("burst") { 0.02 } else { 0.004 };
        // Queries over the whole time: the span from the first to the last is shorter where a rate ends low.
        assert_near(text, 2, |statistics| statistics.queries as f64 / 2.0, expected, edge);
    }
}

#[test]
fn the_variation_of_the_gaps_is_as_promised() {
    for text in
        ["poisson", "constant", "gamma:cv=0.5", "gamma:cv=2", "gamma:burstiness=4", "weibull:cv=0.5", "weibull:cv=2"]
    {
        let expected = parse(text).unwrap().promise(RATE).gap_cv.unwrap();
        assert_near(text, 2, |statistics| statistics.gap_cv.unwrap(), expected, 0.01);
    }
}

#[test]
fn dispersion_tells_processes_of_one_rate_apart() {
    assert_near("poisson", 12, |statistics| statistics.dispersion.unwrap(), 1.0, 0.1);
    assert_near("constant", 12, |statistics| statistics.dispersion.unwrap(), 0.0, 0.0);
    // Counts of a renewal process over long windows vary by the square of the CV.
    assert_near("gamma:cv=2", 12, |statistics| statistics.dispersion.unwrap(), 4.0, 0.1);
    // Bursts of 10 at exponential times: 10 times a Poisson process.
    assert_near(
        "burst:size=10,every=10ms,gaps=exponential",
        12,
        |statistics| statistics.dispersion.unwrap(),
        10.0,
        0.1,
    );
    // Short stays against the window: 1 + 2 * variance of the rate / mean rate / sum of both leave rates.
    let (high, low, leave_high, leave_low) = (3_000.0_f64, 500.0, 50.0, 100.0);
    let share = leave_low / (leave_high + leave_low);
    let mean = share * high + (1.0 - share) * low;
    let variance = share * (1.0 - share) * (high - low).powi(2);
    let expected = 1.0 + 2.0 * variance / mean / (leave_high + leave_low);
    for text in [
        "onoff:high=3000,low=500,mean-high=20ms,mean-low=10ms",
        r#"mmpp:{"rates": [3000, 500], "generator": [[-50, 50], [100, -100]]}"#,
    ] {
        assert_near(text, 12, |statistics| statistics.dispersion.unwrap(), expected, 0.1);
    }
    assert_near("weibull:cv=2", 12, |statistics| statistics.dispersion.unwrap(), 4.0, 0.1);
    assert_near("burst:size=20,every=25ms", 12, |statistics| statistics.dispersion.unwrap(), 0.0, 0.0);
}

/// Of a rate that changes: 1, and the variance of the rates of the seconds over their mean.
#[test]
fn dispersion_of_a_changing_rate_is_that_of_its_seconds() {
    // The last of twelve windows is cut off.
    let of = |rates: [f64; 11]| {
        let mean = rates.iter().sum::<f64>() / 11.0;
        1.0 + rates.iter().map(|rate| (rate - mean).powi(2)).sum::<f64>() / 11.0 / mean
    };
    let stages = std::array::from_fn(|second| if second < 6 { 500.0 } else { 2_000.0 });
    assert_near("stages:500x6s,2000x6s", 12, |statistics| statistics.dispersion.unwrap(), of(stages), 0.01);
    let ramp = std::array::from_fn(|second| 100.0 + 150.0 * (second as f64 + 0.5));
    assert_near("ramp:from=100,to=1900,over=12s", 12, |statistics| statistics.dispersion.unwrap(), of(ramp), 0.01);
    // Whole periods in each second.
    assert_near("sine:mean=800,amplitude=700,period=500ms", 12, |statistics| statistics.dispersion.unwrap(), 1.0, 0.1);
}

#[test]
fn a_changing_rate_puts_queries_where_it_is_high() {
    let counts = |text: &str, edges_ns: [u64; 3]| {
        let mut counts = [0_u64; 2];
        for seed in 0..200 {
            let mut schedule = schedule(text, seed);
            while schedule.next_due_ns < edges_ns[2] {
                if schedule.next_due_ns >= edges_ns[0] {
                    counts[usize::from(schedule.next_due_ns >= edges_ns[1])] += 1;
                }
                schedule.advance();
            }
        }
        counts[1] as f64 / counts[0] as f64
    };
    let second = 1_000_000_000;
    let stages = counts("stages:500x1s,2000x1s", [0, second, 2 * second]);
    assert!((stages - 4.0).abs() < 0.1, "{stages}");
    // Quarters of a line from 0: 1, 3, 5, 7.
    let ramp = counts("ramp:from=0,to=2000,over=4s", [second, 2 * second, 3 * second]);
    assert!((ramp - 5.0 / 3.0).abs() < 0.05, "{ramp}");
    // Halves of a sine: mean + and - 2/pi of the amplitude.
    let sine = counts("sine:mean=1000,amplitude=500,period=1s", [0, second / 2, second]);
    let expected = (1.0 - 1.0 / std::f64::consts::PI) / (1.0 + 1.0 / std::f64::consts::PI);
    assert!((sine - expected).abs() < 0.01, "{sine} for {expected}");
}

/// Fixed for good: other versions of this engine draw the same.
#[test]
fn the_same_seed_draws_the_same_due_times() {
    assert_eq!(first("constant", 7, 4), [0, 1_000_000, 2_000_000, 3_000_000]);
    assert_eq!(first("burst:size=3,every=5ms", 7, 7), [0, 0, 0, 5_000_000, 5_000_000, 5_000_000, 10_000_000]);
    assert_eq!(
        first("stages:1000x3ms,500x1s,gaps=even", 7, 6),
        [0, 1_000_000, 2_000_000, 3_000_000, 5_000_000, 7_000_000]
    );
    let pinned = [
        ("poisson", [1_592_300, 1_794_948, 3_307_672, 4_216_118]),
        ("gamma:cv=3", [7, 22, 63_642, 114_669]),
        ("gamma:cv=0.5", [1_186_212, 1_863_898, 2_722_408, 3_266_498]),
        ("weibull:cv=2", [1_355_565, 1_385_933, 2_619_302, 3_101_268]),
        ("onoff:high=3000,low=100,mean-high=20ms,mean-low=50ms", [10_167_535, 10_372_468, 10_507_810, 10_559_198]),
        ("ramp:from=100,to=1900,over=2s", [14_921_125, 16_695_205, 29_231_554, 36_248_431]),
        ("sine:mean=800,amplitude=700,period=500ms", [1_969_060, 2_216_673, 4_044_670, 5_125_754]),
    ];
    for (text, expected) in pinned {
        assert_eq!(first(text, 42, 5)[1..], expected, "{text}");
    }
}

#[test]
fn a_trace_is_sent_as_written_and_again_where_it_repeats() {
    let listed = |repeat_ns| {
        let due_ns = Some(Arc::from([5_u64, 5, 9]));
        Schedule::new(&Arrivals::Listed(Listed { source: String::new(), due_ns, samples: None, repeat_ns }), RATE, 1)
    };
    let take = |mut schedule: Schedule, count: usize| -> Vec<u64> {
        (0..count)
            .map(|_| {
                let due_ns = schedule.next_due_ns;
                schedule.advance();
                due_ns
            })
            .collect()
    };
    assert_eq!(take(listed(None), 3), [5, 5, 9]);
    assert_eq!(take(listed(Some(100)), 7), [5, 5, 9, 105, 105, 109, 205]);
}
