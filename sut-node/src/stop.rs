//! The node's shutdown, as everything sees it that has to end with the node.

use tokio::sync::watch;

/// Tells the node to stop. When it is dropped, the node is told as well.
#[derive(Debug)]
pub(crate) struct Stopper(watch::Sender<bool>);

/// Knows whether the node was told to stop. Clones share one answer.
#[derive(Clone, Debug)]
pub(crate) struct Stop(watch::Receiver<bool>);

/// A new pair: the one that tells, and the one that is told.
pub(crate) fn stop() -> (Stopper, Stop) {
    let (sender, receiver) = watch::channel(false);
    (Stopper(sender), Stop(receiver))
}

impl Stopper {
    /// Tells everybody. Later calls change nothing.
    pub(crate) fn tell(&self) {
        // The send fails only when nobody is left to be told.
        let _ = self.0.send(true);
    }
}

impl Stop {
    /// Whether the node was told to stop.
    pub(crate) fn is_told(&self) -> bool {
        *self.0.borrow()
    }

    /// Resolves once the node is told to stop.
    pub(crate) async fn told(mut self) {
        // An error means that nobody is left who could tell: the node has ended.
        let _ = self.0.wait_for(|told| *told).await;
    }
}
