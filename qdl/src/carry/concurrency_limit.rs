//! A bound on how much is begun at one time where every node of many is called or connected to.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;

/// Most calls that begin at one time.
const AT_ONCE: usize = 64;

/// A call that has taken longer than this waits for its node, which costs nothing here: another one may begin.
const BUSY: Duration = Duration::from_millis(100);

/// Lets 64 calls begin at one time. With a thousand nodes their handshakes would else all be under way at once, and the
/// last would run into its timeout though its node is there.
#[derive(Clone, Debug)]
pub(crate) struct Gate(Arc<Semaphore>);

impl Gate {
    pub(crate) fn new() -> Gate {
        Gate(Arc::new(Semaphore::new(AT_ONCE)))
    }

    /// The outcome of `call`, which begins when it is its turn. A call that waits for its node holds up no others.
    pub(crate) async fn pass<T>(&self, call: impl Future<Output = T>) -> T {
        // An error would say that the gate is closed, which nobody does.
        let turn = self.0.acquire().await.ok();
        let mut call = pin!(call);
        match tokio::time::timeout(BUSY, &mut call).await {
            Ok(outcome) => outcome,
            Err(_) => {
                drop(turn);
                call.await
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

    use futures_util::future::join_all;

    use super::*;

    /// Returns the most calls under way at one time, out of `calls` calls that each take `each`.
    async fn most(calls: usize, each: Duration) -> usize {
        let (gate, now, most) = (Gate::new(), AtomicUsize::new(0), AtomicUsize::new(0));
        let call = || async {
            most.fetch_max(now.fetch_add(1, SeqCst) + 1, SeqCst);
            tokio::time::sleep(each).await;
            now.fetch_sub(1, SeqCst);
        };
        join_all((0..calls).map(|_| gate.pass(call()))).await;
        most.into_inner()
    }

    #[tokio::test(start_paused = true)]
    async fn quick_calls_are_few_at_one_time() {
        assert_eq!(most(1_000, Duration::from_millis(10)).await, AT_ONCE);
    }

    #[tokio::test(start_paused = true)]
    async fn calls_that_wait_hold_up_no_others() {
        assert_eq!(most(1_000, Duration::from_secs(5)).await, 1_000);
    }
}
