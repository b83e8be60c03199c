//! The newest snapshot of a run, where others than its reader look at it.

use std::sync::{Arc, Mutex, PoisonError};

use super::run_facts::About;
use super::snapshot::Snapshot;

/// Newest snapshot of a run, with its time. A clone is the same board.
#[derive(Clone, Debug, Default)]
pub struct Board(Arc<Mutex<Option<Newest>>>);

/// A run, and what the newest look at it found.
#[derive(Clone, Debug)]
pub struct Newest {
    /// The facts of the run.
    pub about: Arc<About>,
    /// The newest look at it.
    pub snapshot: Arc<Snapshot>,
    /// True when the result is VALID; `None` until that is known.
    pub is_valid: Option<bool>,
}

impl Board {
    /// From now on this is the newest.
    pub fn put(&self, about: Arc<About>, snapshot: Arc<Snapshot>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Newest { about, snapshot, is_valid: None });
    }

    /// The run is over, and its result is VALID or not.
    pub fn judged(&self, is_valid: bool) {
        if let Some(newest) = self.0.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
            newest.is_valid = Some(is_valid);
        }
    }

    /// The newest; none before the first.
    pub fn newest(&self) -> Option<Newest> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
