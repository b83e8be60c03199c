//! An alarm that rings on time: the runtime's own timers tick in milliseconds, queries are due in microseconds.

use std::io;
use std::os::fd::{AsFd as _, AsRawFd, RawFd};
use std::time::{Duration, Instant};

use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use tokio::io::unix::AsyncFd;

/// Belongs to the runtime on which it was made.
#[derive(Debug)]
pub(crate) struct Alarm {
    timer: AsyncFd<Timer>,
}

/// What [`AsyncFd`] wants to be told of a timer.
#[derive(Debug)]
struct Timer(TimerFd);

impl AsRawFd for Timer {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_fd().as_raw_fd()
    }
}

impl Alarm {
    /// Must be called inside a runtime with I/O enabled.
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
            let ahead = at.saturating_duration_since(Instant::now());
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
                tokio::time::sleep(at.saturating_duration_since(Instant::now())).await;
            }
        }
    }
}

/// How late a ringing alarm could never be.
const COARSE: Duration = Duration::from_millis(100);
