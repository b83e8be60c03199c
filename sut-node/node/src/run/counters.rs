//! Counters of a run at a node. `EndRun` returns them, and the LoadGen node compares them with its own counts.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed, Ordering::SeqCst};

use strum::VariantArray as _;

use super::failure::{FailureCounts, FailureKind};

/// The counters of one run, from its start.
#[derive(Default)]
pub(crate) struct Counters {
    /// Samples that came in whole.
    pub(crate) received: AtomicU64,
    /// Samples whose answers are ready, failed ones among them.
    pub(crate) answered: AtomicU64,
    /// Samples that were answered with an error, by its kind.
    failed: [AtomicU64; FailureKind::VARIANTS.len()],
    /// Answers whose outputs hold a NaN.
    pub(crate) nan: AtomicU64,
    /// Bytes of Dispatch messages that came in, without their prefixes.
    pub(crate) message_bytes_in: AtomicU64,
    /// Bytes of Dispatch messages that left, without their prefixes.
    pub(crate) message_bytes_out: AtomicU64,
    /// Bytes of samples in those messages.
    pub(crate) payload_bytes_in: AtomicU64,
    /// Bytes of answers in those messages.
    pub(crate) payload_bytes_out: AtomicU64,
    /// Heartbeats that were sent.
    pub(crate) heartbeats: AtomicU64,
    /// Heartbeats that came from the client.
    pub(crate) client_heartbeats: AtomicU64,
    /// Bytes of samples once inflated. Counted only when samples have a codec.
    pub(crate) raw_bytes_in: AtomicU64,
    /// Bytes of answers before they were encoded. Counted only when answers have a codec.
    pub(crate) raw_bytes_out: AtomicU64,
}

impl Counters {
    /// Returns the number of samples that came in whole.
    pub(crate) fn received(&self) -> u64 {
        self.received.load(SeqCst)
    }

    /// Returns the number of samples that have been answered, failed ones among them.
    pub(crate) fn answered(&self) -> u64 {
        self.answered.load(SeqCst)
    }

    /// Returns the number of samples that were answered with an error, by its kind.
    pub(crate) fn failed_by_kind(&self) -> FailureCounts {
        self.failed.each_ref().map(|count| count.load(Relaxed))
    }

    /// Counts samples that were answered with an error. Nearly always there are none.
    pub(crate) fn add_failed(&self, failed: &FailureCounts) {
        for (count, &more) in self.failed.iter().zip(failed).filter(|(_, more)| **more > 0) {
            count.fetch_add(more, Relaxed);
        }
    }

    /// Counts what one read of a stream brought: one message and the part of a sample in it.
    pub(crate) fn add_message_in(&self, message_bytes: u64, payload_bytes: u64) {
        self.message_bytes_in.fetch_add(message_bytes, Relaxed);
        self.payload_bytes_in.fetch_add(payload_bytes, Relaxed);
    }

    /// Counts what left on a stream in one go.
    pub(crate) fn add_messages_out(&self, message_bytes: u64, payload_bytes: u64) {
        self.message_bytes_out.fetch_add(message_bytes, Relaxed);
        self.payload_bytes_out.fetch_add(payload_bytes, Relaxed);
    }
}
