//! Waiting precisely for a point in time: an absolute sleep, then a spin for the last stretch.
//!
//! Never an asynchronous timer (they tick in milliseconds). The sleep ends early by what the kernel usually oversleeps,
//! and the spin covers that; where no core is free to burn, the spin is left out. Which thread waits, and whether it
//! spins, is decided here too.

use std::cell::Cell;
use std::time::{Duration, Instant};

use nix::sys::prctl;
use nix::sys::time::{TimeSpec, TimeValLike as _};
use nix::time::{ClockId, ClockNanosleepFlags, clock_nanosleep};

use loadgen::traffic::Shape;

/// Length of the last stretch of a wait, which the thread spends awake: as long as the kernel oversleeps with its timer
/// slack turned down.
const SPIN: Duration = Duration::from_micros(50);

/// Time for which the thread waits awake for an answer: longer than the round trip of a node that answers at once.
const LINGER: Duration = Duration::from_micros(500);

/// With this many cores, one can spin even when SUT nodes run on the same host.
const CORES_TO_SPARE: usize = 4;

/// Choice whether waits end in a spin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Spin {
    /// It spins when a core can be spared.
    #[default]
    Auto,
    /// It always spins.
    On,
    /// It never spins.
    Off,
}

/// Wishes of the caller: number of threads, and their way of waiting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacingSpec {
    /// Threads for the network's work beside the issuing one; `None`: as many as the machine has room for.
    pub io_threads: Option<usize>,
    /// Choice whether waits end in a spin.
    pub spin: Spin,
    /// The issuing thread never sleeps.
    pub busy_poll: bool,
}

/// Which threads do the work, and how they wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pacing {
    /// Threads for the network's work beside the issuing thread. 0: the issuing thread does that work itself.
    pub io_threads: usize,
    /// Length of the last stretch of a wait, which the thread spends awake.
    pub spin: Duration,
    /// Time for which the thread waits awake for an answer, as long as no other thread wants the core.
    pub linger: Duration,
}

/// The facts by which [`Pacing::decide`] decides.
#[derive(Clone, Copy, Debug)]
pub struct Circumstances {
    /// The queries of the test.
    pub shape: Shape,
    /// Number of cores that this process may use.
    pub cores: usize,
    /// True when a SUT node runs on this host and needs cores, too.
    pub sut_is_here: bool,
}

impl Pacing {
    /// Decides by the caller's wishes, the machine and the scenario.
    pub fn decide(spec: PacingSpec, at: Circumstances) -> Pacing {
        let PacingSpec { io_threads, spin, busy_poll } = spec;
        // One query at a time needs no second thread. Where cores are few, a second thread costs more than it gains.
        let one_by_one = at.shape.is_one_by_one();
        let alone = one_by_one || busy_poll || at.cores < CORES_TO_SPARE;
        let io_threads = if one_by_one { 0 } else { io_threads.unwrap_or(usize::from(!alone)) };
        let threads = 1 + io_threads;
        let can_spare = if at.sut_is_here { at.cores >= CORES_TO_SPARE } else { at.cores > threads.min(2) };
        let is_off = spin == Spin::Off;
        let spin = match spin {
            _ if busy_poll => Duration::MAX,
            Spin::On => SPIN,
            Spin::Auto if can_spare && !one_by_one => SPIN,
            Spin::Auto | Spin::Off => Duration::ZERO,
        };
        // Only where the next query waits for this answer.
        let linger = if one_by_one && !is_off { LINGER } else { Duration::ZERO };
        Pacing { io_threads, spin, linger }
    }
}

/// Makes the sleeps of the calling thread precise, the first time that it calls this. Another engine sleeps until a
/// query is due, and measures from then on: what its thread oversleeps is latency.
pub fn sharpen_this_thread() {
    thread_local! { static IS_SHARP: Cell<bool> = const { Cell::new(false) }; }
    if !IS_SHARP.replace(true) {
        let _ = Pace::for_this_thread(Duration::ZERO);
    }
}

/// Waits precisely, on the thread that made it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    spin: Duration,
}

impl Pace {
    /// Sets the calling thread's timer slack and time slice as short as they can be.
    pub(crate) fn for_this_thread(spin: Duration) -> Pace {
        qdl::shorten_slice();
        if let Err(error) = prctl::set_timerslack(1) {
            tracing::debug!(%error, "timer slack stays as it is");
        }
        Pace { spin }
    }

    /// Returns at `until`, or at once when it has passed.
    pub(crate) fn wait_until(self, until: Instant) {
        let Some(ahead) = until.checked_duration_since(Instant::now()) else { return };
        if ahead > self.spin {
            sleep_for(ahead - self.spin);
        }
        while Instant::now() < until {
            std::hint::spin_loop();
        }
    }
}

/// Sleeps to an absolute time on the monotonic clock, so that an interruption does not lengthen it.
fn sleep_for(duration: Duration) {
    let clock = ClockId::CLOCK_MONOTONIC;
    let deadline = clock.now().map(|now| now + TimeSpec::nanoseconds(duration.as_nanos() as i64));
    let Ok(deadline) = deadline else {
        std::thread::sleep(duration);
        return;
    };
    while clock_nanosleep(clock, ClockNanosleepFlags::TIMER_ABSTIME, &deadline) == Err(nix::errno::Errno::EINTR) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadgen::plan::Plan;
    use loadgen::settings::{Qsl, Scenario, TestSettings};

    fn shape(scenario: Scenario) -> Shape {
        let settings = TestSettings { scenario, ..TestSettings::default() };
        Plan::for_judging(settings, Qsl { total: 8, performance: 8 }).unwrap().effective().shape
    }

    fn decide(cores: usize, sut_is_here: bool, spin: Spin) -> (usize, bool) {
        let at = Circumstances { shape: shape(Scenario::SERVER), cores, sut_is_here };
        let pacing = Pacing::decide(PacingSpec { spin, ..PacingSpec::default() }, at);
        (pacing.io_threads, !pacing.spin.is_zero())
    }

    #[test]
    fn a_core_is_burnt_only_where_one_can_be_spared() {
        assert_eq!(decide(1, false, Spin::Auto), (0, false));
        assert_eq!(decide(2, false, Spin::Auto), (0, true));
        assert_eq!(decide(2, true, Spin::Auto), (0, false), "the SUT node needs the other one, and more");
        assert_eq!(decide(8, true, Spin::Auto), (1, true));
        assert_eq!(decide(1, true, Spin::On), (0, true));
        assert_eq!(decide(8, false, Spin::Off), (1, false));
    }

    #[test]
    fn one_query_at_a_time_needs_no_second_thread() {
        let at = Circumstances { shape: shape(Scenario::SINGLE_STREAM), cores: 8, sut_is_here: false };
        assert_eq!(
            Pacing::decide(PacingSpec { io_threads: Some(4), ..PacingSpec::default() }, at),
            Pacing { io_threads: 0, spin: Duration::ZERO, linger: LINGER }
        );
        assert_eq!(Pacing::decide(PacingSpec { busy_poll: true, ..PacingSpec::default() }, at).spin, Duration::MAX);
    }
}
