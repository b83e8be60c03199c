//! The node's shutdown, as everything sees it that has to end with the node.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

use tokio::sync::Notify;

/// Tells the node to stop. When it is dropped, the node is told as well.
#[derive(Debug)]
pub struct Stopper(Arc<Signal>);

/// Knows whether the node was told to stop. Clones share one answer.
#[derive(Clone, Debug)]
pub struct Stop(Arc<Signal>);

#[derive(Debug, Default)]
struct Signal {
    is_told: AtomicBool,
    /// Wakes in the order in which it was asked, so that a simulation is the same each time. A `watch` channel does
    /// not.
    telling: Notify,
}

/// A new pair: the one that tells, and the one that is told.
pub fn stop() -> (Stopper, Stop) {
    let signal = Arc::new(Signal::default());
    (Stopper(Arc::clone(&signal)), Stop(signal))
}

impl Stopper {
    /// Tells everybody. Later calls change nothing.
    pub fn tell(&self) {
        self.0.is_told.store(true, SeqCst);
        self.0.telling.notify_waiters();
    }
}

impl Drop for Stopper {
    fn drop(&mut self) {
        self.tell();
    }
}

impl Stop {
    /// Returns true when the node is to stop.
    pub fn is_told(&self) -> bool {
        self.0.is_told.load(SeqCst)
    }

    /// Resolves once the node is told to stop.
    pub async fn wait(self) {
        let mut notice = pin!(self.0.telling.notified());
        // From here on a word is heard; one that came before is remembered.
        notice.as_mut().enable();
        if !self.is_told() {
            notice.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[test]
    fn everybody_is_told_before_and_after_they_ask() {
        let (stopper, stop) = stop();
        let mut waiting = Box::pin(stop.clone().wait());
        assert!(waiting.as_mut().now_or_never().is_none() && !stop.is_told());
        stopper.tell();
        assert!(waiting.now_or_never().is_some() && stop.is_told());
        assert!(stop.wait().now_or_never().is_some());
    }

    #[test]
    fn a_stopper_that_is_gone_has_told() {
        let (stopper, stop) = stop();
        drop(stopper);
        assert!(stop.wait().now_or_never().is_some());
    }
}
