//! Ten thousand seeded runs of round v0.5's MultiStream at a fixed interval, against a second count of the ticks, which
//! is worked out here from scratch.
#![allow(clippy::unwrap_used, reason = "a test that cannot set up has failed")]

use loadgen::run::{End, RunOptions};
use loadgen::settings::{IntegerRule, Qsl};
use loadgen::v05::scenario::Scenario;
use loadgen::v05::script::{Script, ScriptedWorld};
use loadgen::v05::settings::Settings;
use loadgen::v05::test::{TestInput, TestOutcome, run_test};

const RUNS: u64 = 10_000;

/// A small generator of its own: the engine's would agree with itself.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

/// A test, and the SUT that answers it.
struct Case {
    interval_ns: u64,
    samples_per_query: u64,
    /// A query waits for the one so many places before.
    most: u64,
    queries: u64,
    /// Latency of the first sample, query after query, over and over.
    latencies_ns: Vec<u64>,
    /// Time from one sample of a query to the next.
    step_ns: u64,
}

impl Case {
    fn new(seed: u64) -> Case {
        let mut dice = Dice(seed);
        (0..4).for_each(|_| _ = dice.below(2));
        // Parts of a second that binary fractions hold, so that both counts are exact.
        let interval_ns = 1_000_000_000 / [8, 16, 32, 64, 128][dice.below(5) as usize];
        // Ends near ticks, on ticks, and anywhere; most within the interval.
        let latency = |dice: &mut Dice| match dice.below(6) {
            0 => interval_ns * (1 + dice.below(4)),
            1 => interval_ns * (1 + dice.below(3)) + 1 - dice.below(3),
            2 => 1 + dice.below(5 * interval_ns),
            _ => 1 + dice.below(interval_ns),
        };
        let count = 1 + dice.below(13);
        Case {
            interval_ns,
            latencies_ns: (0..count).map(|_| latency(&mut dice)).collect(),
            samples_per_query: 1 + dice.below(5),
            most: 1 + dice.below(3),
            queries: 1 + dice.below(60),
            step_ns: if dice.below(2) == 0 { 0 } else { dice.below(interval_ns / 4) },
        }
    }

    fn run(&self) -> TestOutcome {
        let settings = Settings {
            scenario: Scenario::MultiStream,
            multi_stream_target_qps: 1e9 / self.interval_ns as f64,
            multi_stream_samples_per_query: self.samples_per_query,
            multi_stream_max_async_queries: self.most,
            min_duration_ms: 0,
            min_query_count: self.queries,
            ..Settings::default()
        };
        let input = TestInput { settings, qsl: Qsl { total: 32, performance: 16 }, integers: IntegerRule::Product };
        let script: Script = serde_json::from_value(serde_json::json!({
            "latency_cycle_ns": self.latencies_ns, "per_sample_step_ns": self.step_ns,
        }))
        .unwrap();
        run_test(&input, &RunOptions::default(), &mut ScriptedWorld::new(script), &mut ()).unwrap()
    }

    /// Each query by the tick at which it is issued, and the time of its last answer.
    fn expected(&self, queries: usize) -> Vec<(u64, u64)> {
        let mut issued: Vec<(u64, u64)> = Vec::new();
        let mut tick = 0;
        while issued.len() < queries {
            tick += 1;
            let now_ns = tick * self.interval_ns;
            // The query so many places before has to be answered, whatever the others are.
            let before = issued.len().checked_sub(self.most as usize).map(|place| issued[place].1);
            if before.is_none_or(|end_ns| end_ns <= now_ns) {
                let latency_ns = self.latencies_ns[issued.len() % self.latencies_ns.len()];
                issued.push((tick, now_ns + latency_ns + self.step_ns * (self.samples_per_query - 1)));
            }
        }
        issued
    }
}

#[test]
fn an_interval_is_never_early_and_skips_are_those_of_a_second_count() {
    let mut skipped = 0;
    for seed in 0..RUNS {
        let case = Case::new(seed);
        let outcome = case.run();
        assert_eq!(outcome.end, End::Completed, "seed {seed}");
        let reported = outcome.reported.as_ref().unwrap();
        let queries = outcome.series[reported.series].run.record.queries();
        assert!(queries.len() as u64 >= case.queries, "seed {seed}");
        let expected = case.expected(queries.len());
        let mut before = 0;
        for (number, (query, (tick, end_ns))) in queries.iter().zip(&expected).enumerate() {
            let place = format!("seed {seed}, query {number}");
            assert_eq!(query.scheduled_ns, tick * case.interval_ns, "{place}");
            assert!(query.issued_ns >= query.scheduled_ns, "{place}");
            assert_eq!((query.intervals_before, query.answered_ns), (tick - before, *end_ns), "{place}");
            skipped += tick - before - 1;
            before = *tick;
        }
        if case.most == 1 {
            // A query causes the intervals until the next one, and the last as many as its latency takes.
            let mut caused: Vec<u64> = expected.windows(2).map(|two| two[1].0 - two[0].0).collect();
            let last = expected.last().unwrap();
            caused.push((last.1 - last.0 * case.interval_ns).div_ceil(case.interval_ns).max(1));
            assert_eq!(reported.measured.query_intervals, caused, "seed {seed}");
        }
    }
    assert!(skipped > RUNS, "{skipped} ticks were skipped: the cases are too tame");
}
