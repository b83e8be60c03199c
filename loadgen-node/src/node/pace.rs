//! Waiting for a moment in time, precisely: an absolute sleep, then a spin for the last stretch.
//!
//! Never an asynchronous timer (they tick in milliseconds). The sleep ends early by what the kernel usually oversleeps,
//! and the spin covers that; where no core is free to burn, the spin is left out.

use std::time::{Duration, Instant};

use nix::sys::prctl;
use nix::sys::time::{TimeSpec, TimeValLike as _};
use nix::time::{ClockId, ClockNanosleepFlags, clock_nanosleep};

/// What the kernel oversleeps, with its timer slack turned down.
const SPIN: Duration = Duration::from_micros(50);

/// Waits on the thread that made it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    spin: Duration,
}

impl Pace {
    /// Turns the calling thread's timer slack down, and spins if the machine has a core to spare beside the I/O.
    pub(crate) fn for_this_thread() -> Pace {
        if let Err(error) = prctl::set_timerslack(1) {
            tracing::debug!("timer slack stays as it is: {error}");
        }
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get);
        // One core for the I/O, one for whatever else runs here: burning the last one delays those who answer (on two
        // cores with the SUT beside it, p99 latency at 10 k queries/s was five times higher with the spin).
        Pace { spin: if cores > 2 { SPIN } else { Duration::ZERO } }
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
