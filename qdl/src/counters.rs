//! What is counted per node on the LoadGen node's side, in the path and not by sampling.

use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

/// Counters of one node for one run.
#[derive(Debug, Default)]
pub(crate) struct NodeCounters {
    pub(crate) samples_sent: AtomicU64,
    pub(crate) message_bytes_out: AtomicU64,
    pub(crate) message_bytes_in: AtomicU64,
    pub(crate) payload_bytes_out: AtomicU64,
    pub(crate) payload_bytes_in: AtomicU64,
    /// Answers to samples that had been answered.
    pub(crate) duplicate: AtomicU64,
    /// Answers to samples that had been given up.
    pub(crate) late: AtomicU64,
    /// Answers to ids that were never given out.
    pub(crate) foreign: AtomicU64,
}

/// The counters of one node as they stood when read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeCounts {
    /// Samples sent in full.
    pub samples_sent: u64,
    /// Serialized Dispatch messages sent, without their length prefix; Open not among them.
    pub message_bytes_out: u64,
    /// Serialized Dispatch messages received; heartbeats not among them.
    pub message_bytes_in: u64,
    /// Sample bytes inside the messages sent.
    pub payload_bytes_out: u64,
    /// Answer bytes inside the messages received.
    pub payload_bytes_in: u64,
    /// Answers to samples that had been answered.
    pub duplicate: u64,
    /// Answers to samples that had been given up.
    pub late: u64,
    /// Answers to ids that were never given out.
    pub foreign: u64,
}

impl NodeCounters {
    pub(crate) fn read(&self) -> NodeCounts {
        let get = |counter: &AtomicU64| counter.load(SeqCst);
        NodeCounts {
            samples_sent: get(&self.samples_sent),
            message_bytes_out: get(&self.message_bytes_out),
            message_bytes_in: get(&self.message_bytes_in),
            payload_bytes_out: get(&self.payload_bytes_out),
            payload_bytes_in: get(&self.payload_bytes_in),
            duplicate: get(&self.duplicate),
            late: get(&self.late),
            foreign: get(&self.foreign),
        }
    }
}
