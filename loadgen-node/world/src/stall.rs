//! Stalls: stretches in which one end of a run stood still. A program that was stopped, a machine that was suspended
//! or a network that was cut notices nothing while it lasts; it shows afterwards as a gap between two readings of a
//! clock.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use nix::sys::time::TimeValLike as _;
use nix::time::ClockId;
use serde::{Deserialize, Serialize};

use crate::counts::Counts;
use loadgen::world::TimeNs;

/// Shorter gaps are no stalls: schedulers make them, and they show in the schedule lag.
pub const SHORTEST: Duration = Duration::from_millis(500);

/// Interval between two readings of the clock that counts suspended time.
const LOOK_FOR_SUSPENSION: Duration = Duration::from_millis(100);

/// The name of this end in [`Stall::end`].
pub const LOADGEN: &str = "loadgen";

/// A stretch in which one end of a run stood still.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Stall {
    /// `loadgen`, or the name of the SUT node; of a node it can have been the way to it, too.
    pub end: String,
    /// When it began, ns from the start of the run.
    pub start_ns: u64,
    /// Length of the stall, ns.
    pub duration_ns: u64,
}

/// Finds stalls of the thread that drives the engine. It is given every reading of the clock on that thread, and
/// the thread never rests as long as [`SHORTEST`] between two of them unless something holds it up.
#[derive(Debug)]
pub(crate) struct OwnClock {
    last: TimeNs,
    /// When the suspended time was read, and what it was.
    looked: (TimeNs, Duration),
    stalls: Vec<Stall>,
    /// Learns of each stall at once.
    counts: Arc<Counts>,
}

impl OwnClock {
    /// A clock that is read for the first time at `now`.
    pub(crate) fn new(now: TimeNs, counts: Arc<Counts>) -> OwnClock {
        OwnClock { last: now, looked: (now, suspended()), stalls: Vec::new(), counts }
    }

    /// Notes that the clock was read at `now`.
    #[inline]
    pub(crate) fn read(&mut self, now: TimeNs) {
        let gap_ns = now.since(self.last);
        if gap_ns >= SHORTEST.as_nanos() as u64 {
            self.add(self.last, gap_ns);
        }
        // Answers of several threads need not come in the order of their times.
        self.last = self.last.max(now);
        if now.since(self.looked.0) >= LOOK_FOR_SUSPENSION.as_nanos() as u64 {
            self.slept(now, suspended());
        }
    }

    /// Notes how long the machine had been suspended in all at `now`. The clock of the run does not count that time.
    #[cold]
    fn slept(&mut self, now: TimeNs, in_all: Duration) {
        let (since, before) = std::mem::replace(&mut self.looked, (now, in_all));
        let slept = in_all.saturating_sub(before);
        if slept >= SHORTEST {
            self.add(since, slept.as_nanos() as u64);
        }
    }

    fn add(&mut self, start: TimeNs, duration_ns: u64) {
        self.counts.longest_stall_ns.fetch_max(duration_ns, Relaxed);
        self.stalls.push(Stall { end: LOADGEN.to_owned(), start_ns: start.0, duration_ns });
    }

    /// The stalls so far, in order.
    pub(crate) fn into_stalls(self) -> Vec<Stall> {
        self.stalls
    }
}

/// Returns the time for which this machine has been suspended since it was started; zero where the system does not say.
fn suspended() -> Duration {
    let time_of = |clock: ClockId| Some(Duration::from_nanos(u64::try_from(clock.now().ok()?.num_nanoseconds()).ok()?));
    let (with, without) = (time_of(ClockId::CLOCK_BOOTTIME), time_of(ClockId::CLOCK_MONOTONIC));
    with.zip(without).map(|(with, without)| with.saturating_sub(without)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn stalls(readings_ms: &[u64]) -> Vec<(u64, u64)> {
        let mut clock = OwnClock::new(TimeNs(0), Arc::default());
        readings_ms.iter().for_each(|ms| clock.read(TimeNs(ms * MS)));
        clock.into_stalls().iter().map(|stall| (stall.start_ns / MS, stall.duration_ns / MS)).collect()
    }

    #[test]
    fn a_gap_between_two_readings_is_a_stall() {
        assert_eq!(stalls(&[50, 100, 599, 600]), [], "a thread that waits for its turn");
        assert_eq!(stalls(&[50, 8_100, 8_150, 8_650]), [(50, 8_050), (8_150, 500)]);
        assert_eq!(stalls(&[400, 100, 800]), [], "a reading that is older than another");
    }

    #[test]
    fn suspended_time_is_a_stall_that_the_clock_of_the_run_does_not_show() {
        let mut clock = OwnClock::new(TimeNs(0), Arc::default());
        let before = clock.looked.1;
        clock.slept(TimeNs(100 * MS), before + Duration::from_micros(3));
        assert_eq!(clock.stalls, [], "two clocks are not read at the same moment");
        clock.slept(TimeNs(200 * MS), before + Duration::from_secs(8));
        let slept = (8_000 * MS - 3_000, LOADGEN);
        let stalls = clock.into_stalls();
        assert_eq!(stalls.iter().map(|stall| (stall.duration_ns, stall.end.as_str())).collect::<Vec<_>>(), [slept]);
        assert_eq!(stalls[0].start_ns, 100 * MS);
    }
}
