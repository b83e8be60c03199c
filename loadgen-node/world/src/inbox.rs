//! Where the QDL's threads put replies and the engine's thread takes them.

use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use qdl::{NodeFailure, NodeIndex, Reply, Sink};

/// Replies that there is room for from the start. Growing takes time, and during a run there is none to spare.
pub(crate) const REPLIES: usize = 4 << 10;

/// Replies that have arrived and have not been taken yet. Their number is bounded by what the QDL allows in flight.
pub struct Inbox {
    state: Mutex<State>,
    changed: Condvar,
    /// When the first node was lost.
    broken: OnceLock<Instant>,
}

struct State {
    replies: Vec<Reply>,
    room: bool,
    /// The engine's thread sleeps in `wait` and has to be woken. When it does not, a wake-up is saved.
    waiting: bool,
}

impl Default for Inbox {
    /// Nothing has arrived in it.
    fn default() -> Inbox {
        let state = State { replies: Vec::with_capacity(REPLIES), room: false, waiting: false };
        Inbox { state: Mutex::new(state), changed: Condvar::new(), broken: OnceLock::new() }
    }
}

impl Inbox {
    /// Returns true when a node was lost. The SUT is not complete any more then.
    pub(crate) fn is_broken(&self) -> bool {
        self.broken.get().is_some()
    }

    /// When the first node was lost; none as long as all are there.
    pub(crate) fn broken_at(&self) -> Option<Instant> {
        self.broken.get().copied()
    }

    /// Moves the replies that have arrived to the end of `into`.
    pub(crate) fn take(&self, into: &mut Vec<Reply>) {
        into.append(&mut self.lock().replies);
    }

    /// Sleeps until a reply arrives, a node has room again or is lost, or `timeout` has passed.
    pub(crate) fn wait(&self, timeout: Duration) {
        let mut state = self.lock();
        if state.replies.is_empty() && !std::mem::take(&mut state.room) {
            state.waiting = true;
            state = self.changed.wait_timeout(state, timeout).unwrap_or_else(PoisonError::into_inner).0;
            state.waiting = false;
            state.room = false;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, what: impl FnOnce(&mut State)) {
        let mut state = self.lock();
        what(&mut state);
        let waiting = state.waiting;
        drop(state);
        if waiting {
            self.changed.notify_one();
        }
    }
}

impl Sink for Inbox {
    fn replies(&self, replies: &mut Vec<Reply>) {
        self.change(|state| state.replies.append(replies));
    }

    fn node_lost(&self, _node: NodeIndex, _failure: &NodeFailure) {
        self.broken.get_or_init(Instant::now);
        self.change(|_| {});
    }

    fn room(&self) {
        self.change(|state| state.room = true);
    }
}
