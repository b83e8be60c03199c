//! What is counted per node on the LoadGen node's side, in the path and not by sampling.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed, Ordering::SeqCst};

use crate::slots::Stranger;

/// Counters of one node for one run; [`NodeCounts`] says what each is.
#[derive(Debug, Default)]
pub(crate) struct NodeCounters {
    samples_sent: AtomicU64,
    message_bytes_out: AtomicU64,
    message_bytes_in: AtomicU64,
    payload_bytes_out: AtomicU64,
    payload_bytes_in: AtomicU64,
    duplicate: AtomicU64,
    late: AtomicU64,
    foreign: AtomicU64,
}

/// What a burst of messages adds: summed up first, so that the shared counters are touched once a burst.
#[derive(Debug, Default)]
pub(crate) struct Burst {
    message_bytes: u64,
    payload_bytes: u64,
    /// Samples of which the last part was among them.
    pub(crate) samples: u64,
}

impl Burst {
    pub(crate) fn message(&mut self, message_bytes: u64, payload_bytes: usize) {
        self.message_bytes += message_bytes;
        self.payload_bytes += payload_bytes as u64;
    }
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
    pub(crate) fn sent(&self, burst: &Burst) {
        self.message_bytes_out.fetch_add(burst.message_bytes, Relaxed);
        self.payload_bytes_out.fetch_add(burst.payload_bytes, Relaxed);
        self.samples_sent.fetch_add(burst.samples, SeqCst);
    }

    pub(crate) fn received(&self, burst: &Burst) {
        self.message_bytes_in.fetch_add(burst.message_bytes, Relaxed);
        self.payload_bytes_in.fetch_add(burst.payload_bytes, Relaxed);
    }

    /// An answer that leads nowhere; counted once, with its last part.
    pub(crate) fn stranger(&self, stranger: Stranger, last: bool) {
        if last {
            match stranger {
                Stranger::Duplicate => self.duplicate.fetch_add(1, Relaxed),
                Stranger::Late => self.late.fetch_add(1, Relaxed),
                Stranger::Unknown => self.foreign.fetch_add(1, Relaxed),
            };
        }
    }

    /// Samples sent in full so far.
    pub(crate) fn samples_sent(&self) -> u64 {
        self.samples_sent.load(SeqCst)
    }

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
