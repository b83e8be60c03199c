//! Outcomes of the calls of Flush. A run that is over waits a moment for those that are under way. A node that does not
//! return from them, or fails them, has not kept to the contract.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// The calls of Flush of one run, by the places of its nodes.
#[derive(Debug, Default)]
pub(crate) struct Flushes {
    nodes: Mutex<Vec<Flush>>,
    ended: Notify,
}

/// Those of one node.
#[derive(Clone, Debug, Default)]
struct Flush {
    under_way: u64,
    /// Why the first one failed that did.
    failure: Option<String>,
}

impl Flushes {
    /// One begins at each of these many nodes.
    pub(crate) fn begin(&self, nodes: usize) {
        let mut all = self.nodes();
        all.resize_with(nodes, Flush::default);
        all.iter_mut().for_each(|flush| flush.under_way += 1);
    }

    /// One has ended at this node, or will not be made.
    pub(crate) fn end(&self, node: usize, outcome: Result<(), String>) {
        if let Some(flush) = self.nodes().get_mut(node) {
            flush.under_way = flush.under_way.saturating_sub(1);
            flush.failure = flush.failure.take().or(outcome.err());
        }
        self.ended.notify_one();
    }

    /// Returns when none of those nodes has one under way that `are_due` names.
    pub(crate) async fn wait(&self, are_due: impl Fn(usize) -> bool) {
        while self.nodes().iter().enumerate().any(|(node, flush)| flush.under_way > 0 && are_due(node)) {
            self.ended.notified().await;
        }
    }

    /// Returns true in the first place when a call is under way at this node, and the reason of a failure, if one
    /// failed.
    pub(crate) fn of(&self, node: usize) -> (bool, Option<String>) {
        let flush = self.nodes().get(node).cloned().unwrap_or_default();
        (flush.under_way > 0, flush.failure)
    }

    fn nodes(&self) -> MutexGuard<'_, Vec<Flush>> {
        self.nodes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
