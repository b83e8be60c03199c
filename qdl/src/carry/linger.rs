//! Staying awake for a moment before going to sleep, politely.
//!
//! An answer that comes within a few dozen microseconds is there sooner than a sleeping core is awake. Each round gives
//! the core to whoever else wants it; when somebody did, or when staying awake was in vain several times in a row, the
//! next waits go to sleep at once, so that nothing is taken from those who have work to do.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Giving the core away and having it back takes longer than this only when somebody took it.
const UNDISTURBED: Duration = Duration::from_micros(20);

/// Times in a row in vain that are too many.
const MAX_MISSES: u32 = 4;

/// Waits that go to sleep at once after that.
const PAUSE: u32 = 256;

/// Remembers whether staying awake has been a nuisance.
#[derive(Debug, Default)]
pub(crate) struct Linger {
    pause: AtomicU32,
    misses: AtomicU32,
}

impl Linger {
    /// Turns the runtime over until `arrived`, for `patience` at most; whether it has arrived.
    pub(crate) async fn until(&self, patience: Duration, arrived: impl Fn() -> bool) -> bool {
        if patience.is_zero() || !self.is_welcome() {
            return false;
        }
        let start = Instant::now();
        loop {
            tokio::task::yield_now().await;
            if arrived() {
                self.misses.store(0, Relaxed);
                return true;
            }
            let before = Instant::now();
            // Fails never on Linux.
            let _ = nix::sched::sched_yield();
            let after = Instant::now();
            let disturbed = after - before > UNDISTURBED;
            if disturbed || after - start > patience {
                self.missed(disturbed);
                return false;
            }
        }
    }

    fn missed(&self, disturbed: bool) {
        if disturbed || self.misses.fetch_add(1, Relaxed) + 1 >= MAX_MISSES {
            self.misses.store(0, Relaxed);
            self.pause.store(PAUSE, Relaxed);
        }
    }

    fn is_welcome(&self) -> bool {
        let pause = self.pause.load(Relaxed);
        self.pause.store(pause.saturating_sub(1), Relaxed);
        pause == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_in_vain_is_not_tried_for_ever() {
        let linger = Linger::default();
        let mut tries = 0;
        while linger.pause.load(Relaxed) == 0 {
            assert!(!linger.until(Duration::from_nanos(1), || false).await);
            tries += 1;
        }
        // On a busy machine it is disturbed and ends sooner.
        assert!(tries <= MAX_MISSES);
        let unwelcome = (0..).take_while(|_| !linger.is_welcome()).count();
        assert_eq!(unwelcome as u32, PAUSE);
        assert!(linger.until(Duration::from_secs(60), || true).await, "it is here already");
    }
}
