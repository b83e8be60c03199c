//! Statistics of several tries of a test.

use std::fmt::Debug;
use std::io::Write as _;
use std::ops::RangeBounds;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{JoinHandle, sleep};
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

/// Says that measurements run beside others, and are made once more alone where they fail.
const BESIDE: &str = "LON_TEST_BESIDE";

fn is_beside() -> bool {
    std::env::var_os(BESIDE).is_some()
}

/// Returns when the machine is mostly idle, or beside others has time to spare: what is measured beside a build says
/// nothing. One that never is is waited for three minutes in all, whatever is measured.
pub fn wait_until_quiet() {
    const BUSY: f64 = 0.3;
    const BUSY_BESIDE: f64 = 0.6;
    let most = if is_beside() { BUSY_BESIDE } else { BUSY };
    static PATIENCE: Mutex<Duration> = Mutex::new(Duration::from_secs(180));
    let mut patience = PATIENCE.lock().unwrap_or_else(PoisonError::into_inner);
    let start = Instant::now();
    while start.elapsed() < *patience && busy_share(Duration::from_millis(300)).is_some_and(|share| share > most) {}
    *patience = patience.saturating_sub(start.elapsed());
}

/// The part of the processors' time that is used while this waits; none where nobody says.
fn busy_share(span: Duration) -> Option<f64> {
    let before = Ticks::now()?;
    sleep(span);
    before.busy_share_until(&Ticks::now()?)
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

    fn busy_share_until(&self, after: &Ticks) -> Option<f64> {
        let all = after.all.checked_sub(self.all).filter(|all| *all > 0)?;
        Some(1.0 - after.idle.saturating_sub(self.idle) as f64 / all as f64)
    }
}

/// Measures several things together, each when the machine is quiet, until the median of each of them lies in `range`.
/// There are three rounds at least and `tries` (an odd number) at most. A round in which the machine stood still for a
/// part of the time, or had no processor to spare, says nothing of a link: it is made again. Where that happens `tries`
/// times, the screen reports that the link could not be measured.
///
/// # Errors
/// A median does not lie in the range; what was measured. Beside others (`LON_TEST_BESIDE`), nothing could be told.
pub fn medians_within<const N: usize>(
    range: impl RangeBounds<f64> + Debug,
    tries: usize,
    mut measure: impl FnMut() -> [f64; N],
) -> Result<(), String> {
    let measure = || {
        wait_until_quiet();
        let (before, stalls) = (Ticks::now(), Stalls::begin());
        let values = measure();
        let busy = before.zip(Ticks::now()).and_then(|(before, after)| before.busy_share_until(&after));
        let is_disturbed = stalls.share() > STALLED || busy.is_some_and(|share| share > STARVED);
        Round { values, is_disturbed }
    };
    match judge(&range, tries, measure) {
        Outcome::Inside => Ok(()),
        Outcome::Outside(rounds) => Err(format!("the medians of {rounds:?} are not within {range:?}")),
        Outcome::Disturbed(rounds) if is_beside() => Err(format!("not told beside others: {rounds:?}")),
        Outcome::Disturbed(rounds) => {
            // Not by eprintln, which is not shown where a test passes.
            let notice = format!("NOT TOLD: the machine had no time to spare; {rounds:?} instead of {range:?}\n");
            std::io::stderr().write_all(notice.as_bytes()).map_err(|error| error.to_string())
        }
    }
}

/// The part of the processors' time from which on they set the pace, not what is measured.
const STARVED: f64 = 0.9;
/// The part of the time for which a machine may stand still without it being seen in what is measured to the per cent.
const STALLED: f64 = 0.01;

struct Round<const N: usize> {
    values: [f64; N],
    is_disturbed: bool,
}

/// Where the medians lie; what was measured, if not within the range. Disturbed rounds are among it.
#[derive(Debug, PartialEq)]
enum Outcome<const N: usize> {
    Inside,
    Outside(Vec<[f64; N]>),
    Disturbed(Vec<[f64; N]>),
}

fn judge<const N: usize>(
    range: &impl RangeBounds<f64>,
    tries: usize,
    mut measure: impl FnMut() -> Round<N>,
) -> Outcome<N> {
    let (mut quiet, mut disturbed) = (Vec::new(), Vec::new());
    let is_inside = |rounds: &[[f64; N]]| {
        let of = |at: usize| median(&rounds.iter().map(|values| values[at]).collect::<Vec<f64>>());
        (0..N).all(|at| range.contains(&of(at)))
    };
    while quiet.len() < tries {
        let Round { values, is_disturbed } = measure();
        match is_disturbed {
            true => disturbed.push(values),
            false => quiet.push(values),
        }
        // Of an even number there is no middle one.
        if quiet.len() >= 3 && quiet.len() % 2 == 1 && is_inside(&quiet) {
            return Outcome::Inside;
        }
        if disturbed.len() >= tries {
            disturbed.extend(quiet);
            return Outcome::Disturbed(disturbed);
        }
    }
    Outcome::Outside(quiet)
}

/// Looks for times at which this machine stood still: threads that sleep for a moment and wake too late.
struct Stalls {
    since: Instant,
    is_over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<Duration>>,
}

impl Stalls {
    fn begin() -> Stalls {
        let is_over = Arc::new(AtomicBool::new(false));
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let watch = |_| {
            let is_over = Arc::clone(&is_over);
            std::thread::spawn(move || Stalls::watch(&is_over))
        };
        Stalls { since: Instant::now(), threads: (0..cores).map(watch).collect(), is_over }
    }

    /// Returns the total time by which this thread woke too late. A few milliseconds are usual on any machine with
    /// other work.
    fn watch(is_over: &AtomicBool) -> Duration {
        const NAP: Duration = Duration::from_millis(2);
        const USUAL: Duration = Duration::from_millis(5);
        let mut late = Duration::ZERO;
        while !is_over.load(Relaxed) {
            let start = Instant::now();
            sleep(NAP);
            late += start.elapsed().checked_sub(NAP + USUAL).unwrap_or_default();
        }
        late
    }

    /// The part of the time since the beginning for which the thread that was late the longest was late.
    fn share(self) -> f64 {
        self.is_over.store(true, Relaxed);
        let late = self.threads.into_iter().filter_map(|thread| thread.join().ok()).max().unwrap_or_default();
        late.as_secs_f64() / self.since.elapsed().as_secs_f64()
    }
}

#[cfg(test)]
mod tests {
    use super::{Outcome, Round, Stalls, Ticks, judge, median};

    fn outcome(rounds: &[(f64, bool)]) -> (Outcome<1>, usize) {
        let mut queue = rounds.iter().map(|&(value, is_disturbed)| Round { values: [value], is_disturbed });
        let outcome = judge(&(1.0..=2.0), 5, || queue.next().unwrap());
        (outcome, queue.len())
    }

    #[test]
    fn no_more_is_measured_than_the_verdict_takes() {
        let outcome = |values: [f64; 5]| outcome(&values.map(|value| (value, false)));
        assert_eq!(outcome([1.0, 2.0, 9.0, 9.0, 9.0]), (Outcome::Inside, 2));
        assert_eq!(outcome([9.0, 9.0, 1.5, 1.0, 0.1]), (Outcome::Inside, 0));
        let wrong = [0.9, 2.1, 0.5, 1.0, 0.8];
        assert_eq!(outcome(wrong), (Outcome::Outside(wrong.map(|value| [value]).to_vec()), 0));
        assert!(matches!(outcome([0.9, f64::NAN, 0.9, f64::NAN, 0.5]), (Outcome::Outside(_), 0)));
    }

    #[test]
    fn each_of_several_things_has_its_own_median() {
        let rounds = |second: f64| judge(&(1.0..=2.0), 3, move || Round { values: [1.5, second], is_disturbed: false });
        assert_eq!(rounds(1.0), Outcome::Inside);
        assert!(matches!(rounds(0.9), Outcome::Outside(_)));
    }

    #[test]
    fn what_a_disturbed_machine_says_is_asked_again() {
        let lost = (0.5, true);
        assert_eq!(outcome(&[lost, (1.0, false), lost, (2.0, false), (1.0, false)]), (Outcome::Inside, 0));
        let mut all = vec![lost; 5];
        all.insert(0, (1.0, false));
        assert!(matches!(outcome(&all), (Outcome::Disturbed(_), 0)));
    }

    #[test]
    fn a_thread_that_could_not_wake_has_been_late() {
        let stalls = Stalls::begin();
        std::thread::sleep(std::time::Duration::from_millis(20));
        assert!((0.0..1.0).contains(&stalls.share()));
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
