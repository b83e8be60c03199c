//! A timer that is exact to microseconds: the runtime's own timers tick in milliseconds, and queries are due more
//! exactly.

use std::io;
use std::os::fd::{AsFd as _, AsRawFd, RawFd};
use std::time::{Duration, Instant};

use lon_net::clock;
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use tokio::io::unix::AsyncFd;

/// A timer of the operating system. It belongs to the runtime on which it was made.
#[derive(Debug)]
pub(crate) struct Alarm {
    timer: AsyncFd<Timer>,
}

/// A timer's descriptor in the form that [`AsyncFd`] takes.
#[derive(Debug)]
struct Timer(TimerFd);

impl AsRawFd for Timer {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_fd().as_raw_fd()
    }
}

impl Alarm {
    /// Makes a timer. Must be called inside a runtime with I/O enabled.
    ///
    /// # Errors
    /// The system refuses the timer.
    pub(crate) fn new() -> io::Result<Alarm> {
        let flags = TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC;
        let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, flags)?;
        // SAFETY: the descriptor is open, belongs to this `Timer` alone, and stays the same until the AsyncFd drops it.
        #[allow(unsafe_code)]
        let timer = unsafe { AsyncFd::register(Timer(timer))? };
        Ok(Alarm { timer })
    }

    /// Resolves at `at`, or at once when it has passed. One at a time: a second call replaces the first.
    pub(crate) async fn until(&self, at: Instant) {
        loop {
            let ahead = at.saturating_duration_since(clock::now());
            if ahead.is_zero() {
                return;
            }
            let once = Expiration::OneShot(TimeSpec::from_duration(ahead));
            // Neither fails with a timer of our own; if they did, the runtime's coarse clock would still wake us.
            let set = self.timer.get_ref().0.set(once, TimerSetTimeFlags::empty());
            let readable = async {
                match self.timer.readable().await {
                    Ok(mut guard) => guard.clear_ready(),
                    Err(_) => std::future::pending().await,
                }
            };
            if set.is_err() || tokio::time::timeout(ahead + COARSE, readable).await.is_err() {
                tokio::time::sleep(at.saturating_duration_since(clock::now())).await;
            }
        }
    }
}

/// An alarm that is this late counts as failed, and the runtime's own timer takes over.
const COARSE: Duration = Duration::from_millis(100);
