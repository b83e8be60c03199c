//! Waits for an answer without going to sleep, for a moment, as long as no other program wants the core.
//!
//! A sleeping core takes longer to wake up than many answers take to come. Each round gives the core to other
//! programs. When one took it, or when several waits in a row were in vain, the next waits go to sleep at once, so
//! that nothing is taken from programs that have work to do.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

use lon_net::clock;

/// Giving up the core and getting it back takes longer than this only when another program took it.
const UNDISTURBED: Duration = Duration::from_micros(20);

/// After this many waits in vain in a row there is a pause.
const MAX_MISSES: u32 = 4;

/// Length of a pause: this many waits go to sleep at once.
const PAUSE: u32 = 256;

/// Remembers whether staying awake was of use.
#[derive(Debug, Default)]
pub(crate) struct Linger {
    pause: AtomicU32,
    misses: AtomicU32,
}

impl Linger {
    /// Lets the runtime's tasks run until `arrived`, for `patience` at most; true when it has arrived.
    pub(crate) async fn until(&self, patience: Duration, arrived: impl Fn() -> bool) -> bool {
        if patience.is_zero() || !self.is_welcome() {
            return false;
        }
        let start = clock::now();
        loop {
            tokio::task::yield_now().await;
            if arrived() {
                self.misses.store(0, Relaxed);
                return true;
            }
            let before = clock::now();
            // It never fails on Linux.
            let _ = nix::sched::sched_yield();
            let after = clock::now();
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
