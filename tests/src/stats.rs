//! What tests make of several tries.

use std::fmt::Debug;
use std::ops::RangeBounds;
use std::sync::{Mutex, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The middle one (of an even number, the lower of the two).
///
/// # Panics
/// There is none.
pub fn median(values: &[f64]) -> f64 {
    assert!(!values.is_empty(), "no median of nothing");
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[(sorted.len() - 1) / 2]
}

/// Returns when the machine is mostly idle: what is measured beside a build says nothing. One that never is is waited
/// for three minutes in all, whatever is measured.
pub fn wait_until_quiet() {
    const BUSY: f64 = 0.3;
    static PATIENCE: Mutex<Duration> = Mutex::new(Duration::from_secs(180));
    let mut patience = PATIENCE.lock().unwrap_or_else(PoisonError::into_inner);
    let start = Instant::now();
    while start.elapsed() < *patience && busy_share(Duration::from_millis(300)).is_some_and(|share| share > BUSY) {}
    *patience = patience.saturating_sub(start.elapsed());
}

/// The part of the processors' time that is used while this waits; none where nobody says.
fn busy_share(span: Duration) -> Option<f64> {
    let before = Ticks::now()?;
    sleep(span);
    let after = Ticks::now()?;
    let all = after.all.checked_sub(before.all).filter(|all| *all > 0)?;
    Some(1.0 - after.idle.saturating_sub(before.idle) as f64 / all as f64)
}

/// Time of all processors since the machine started.
struct Ticks {
    all: u64,
    idle: u64,
}

impl Ticks {
    fn now() -> Option<Ticks> {
        Ticks::parse(&std::fs::read_to_string("/proc/stat").ok()?)
    }

    fn parse(text: &str) -> Option<Ticks> {
        let line = text.lines().next()?.strip_prefix("cpu ")?;
        // user nice system idle iowait irq softirq steal; guests are within user.
        let ticks: Vec<u64> = line.split_whitespace().take(8).map(str::parse).collect::<Result<_, _>>().ok()?;
        Some(Ticks { all: ticks.iter().sum(), idle: ticks.get(3)? + ticks.get(4)? })
    }
}

/// Measures up to `tries` times (an odd number), each when the machine is quiet, until it is certain whether the median
/// lies in `range`.
///
/// # Errors
/// It does not; what was measured.
pub fn median_within(
    range: impl RangeBounds<f64> + Debug,
    tries: usize,
    mut measure: impl FnMut() -> f64,
) -> Result<(), String> {
    let measure = || {
        wait_until_quiet();
        measure()
    };
    mostly_within(range, tries, measure)
}

fn mostly_within(
    range: impl RangeBounds<f64> + Debug,
    tries: usize,
    mut measure: impl FnMut() -> f64,
) -> Result<(), String> {
    let (mut measured, mut inside) = (Vec::new(), 0);
    while measured.len() < tries {
        let value = measure();
        measured.push(value);
        inside += usize::from(range.contains(&value));
        if inside > tries / 2 {
            return Ok(());
        }
        if measured.len() - inside > tries / 2 {
            break;
        }
    }
    Err(format!("{measured:?} are not within {range:?} for the most part"))
}

#[cfg(test)]
mod tests {
    use super::{Ticks, median, mostly_within};

    #[test]
    fn no_more_is_measured_than_the_verdict_takes() {
        let verdict = |values: &[f64]| {
            let mut left = values.iter().copied();
            let verdict = mostly_within(1.0..=2.0, 3, || left.next().unwrap()).is_ok();
            (verdict, left.len())
        };
        assert_eq!(verdict(&[1.0, 2.0, 9.0]), (true, 1));
        assert_eq!(verdict(&[9.0, 1.5, 1.0]), (true, 0));
        assert_eq!(verdict(&[0.9, 2.1, 1.0]), (false, 1));
        assert_eq!(verdict(&[0.9, 1.0, f64::NAN]), (false, 0));
    }

    #[test]
    fn idle_time_is_that_of_waiting_too() {
        let ticks = Ticks::parse("cpu  10 1 20 300 40 0 5 6 7 0\ncpu0 1 2 3 4\n").unwrap();
        assert_eq!((ticks.all, ticks.idle), (382, 340));
        assert!(Ticks::parse("intr 5").is_none() && Ticks::now().is_some());
    }

    #[test]
    fn the_middle_one() {
        assert_eq!([median(&[3.0]), median(&[3.0, 1.0, 2.0]), median(&[4.0, 1.0])], [3.0, 2.0, 1.0]);
    }
}
