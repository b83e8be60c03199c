//! Where the QDL puts replies and the thread that probes takes them.

use std::sync::{Mutex, MutexGuard, PoisonError};

use qdl::{NodeFailure, NodeIndex, Reply, Sink};

/// Replies that have arrived and have not been taken yet. Their number is bounded by what is in flight.
#[derive(Default)]
pub(crate) struct Mailbox(Mutex<Vec<Reply>>);

impl Mailbox {
    /// Moves the replies that have arrived to the end of `into`.
    pub(crate) fn take(&self, into: &mut Vec<Reply>) {
        into.append(&mut self.lock());
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Reply>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sink for Mailbox {
    fn replies(&self, replies: &mut Vec<Reply>) {
        self.lock().append(replies);
    }

    /// Does nothing: a probe asks the run for the lost nodes.
    fn node_lost(&self, _node: NodeIndex, _failure: &NodeFailure) {}
}
