//! Counters of one node's answers that are inflated at this end.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Counters that the threads that inflate write and any thread reads.
#[derive(Debug, Default)]
pub(crate) struct Inflated {
    waiting: AtomicU64,
    tensor_bytes: AtomicU64,
    missed: AtomicU64,
}

impl Inflated {
    /// Answers that wait or are being inflated.
    pub(crate) fn waiting(&self) -> u64 {
        self.waiting.load(Relaxed)
    }

    /// Bytes of answers after they were inflated, and of first tokens, which have no codec.
    pub(crate) fn tensor_bytes(&self) -> u64 {
        self.tensor_bytes.load(Relaxed)
    }

    /// Answers that came and were not inflated.
    pub(crate) fn missed(&self) -> u64 {
        self.missed.load(Relaxed)
    }

    /// One more answer waits.
    pub(crate) fn enqueue(&self) {
        self.waiting.fetch_add(1, Relaxed);
    }

    /// One answer waits no longer, however that ended.
    pub(crate) fn dequeue(&self) {
        self.waiting.fetch_sub(1, Relaxed);
    }

    /// Adds the bytes of an answer or a first token.
    pub(crate) fn add_tensor_bytes(&self, bytes: usize) {
        self.tensor_bytes.fetch_add(bytes as u64, Relaxed);
    }

    /// One answer was not inflated.
    pub(crate) fn miss(&self) {
        self.missed.fetch_add(1, Relaxed);
    }
}
