//! Memory that the answers of one node may take while they come in pieces.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Bytes that the unfinished answers of one node may take together. Shared by its lanes.
#[derive(Debug)]
pub(crate) struct Budget {
    max_bytes: u64,
    reserved_bytes: AtomicU64,
}

/// A part of a [`Budget`], given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Reservation {
    budget: Arc<Budget>,
    bytes: u64,
}

/// The error for unfinished answers that take more than they may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("its unfinished answers take more than {max_bytes} bytes together")]
pub(crate) struct OverBudget {
    max_bytes: u64,
}

impl Budget {
    /// A budget of which nothing is held.
    pub(crate) fn new(max_bytes: u64) -> Arc<Budget> {
        Arc::new(Budget { max_bytes, reserved_bytes: AtomicU64::new(0) })
    }

    /// Nothing of the budget, to which bytes are added.
    pub(crate) fn hold(self: &Arc<Budget>) -> Reservation {
        Reservation { budget: Arc::clone(self), bytes: 0 }
    }
}

impl Reservation {
    /// Holds so many bytes more.
    ///
    /// # Errors
    /// There is not so much left; nothing has changed.
    pub(crate) fn add(&mut self, bytes: usize) -> Result<(), OverBudget> {
        let Budget { max_bytes, reserved_bytes } = &*self.budget;
        let bytes = bytes as u64;
        let before = reserved_bytes.fetch_add(bytes, Relaxed);
        if before.saturating_add(bytes) > *max_bytes {
            reserved_bytes.fetch_sub(bytes, Relaxed);
            return Err(OverBudget { max_bytes: *max_bytes });
        }
        self.bytes += bytes;
        Ok(())
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.budget.reserved_bytes.fetch_sub(self.bytes, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_is_bounded_and_given_back() {
        let budget = Budget::new(10);
        let mut one = budget.hold();
        let mut other = budget.hold();
        assert_eq!((one.add(6), other.add(4)), (Ok(()), Ok(())));
        let error = other.add(1).unwrap_err().to_string();
        assert_eq!(error, "its unfinished answers take more than 10 bytes together");
        drop(one);
        assert_eq!((other.add(6), other.add(usize::MAX)), (Ok(()), Err(OverBudget { max_bytes: 10 })));
        drop(other);
        assert_eq!(budget.reserved_bytes.load(Relaxed), 0);
    }
}
