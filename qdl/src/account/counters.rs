//! Counters of messages, payloads and samples at the LoadGen node's end: every message is counted where it passes.
//!
//! Each lane has counters of its own, so that no counter is written by two threads: see [`LaneCounters`].

use std::iter::Sum;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Counters of one lane; [`NodeCounts`] says what each is. Only the thread that holds the lane's state writes them, so
/// a write is a load and a store, which costs next to nothing. Any thread reads them.
#[derive(Debug, Default)]
pub(crate) struct LaneCounters {
    samples_sent: AtomicU64,
    message_bytes_out: AtomicU64,
    message_bytes_in: AtomicU64,
    payload_bytes_out: AtomicU64,
    payload_bytes_in: AtomicU64,
    tensor_bytes_out: AtomicU64,
    other_bytes_out: AtomicU64,
    other_bytes_in: AtomicU64,
    heartbeats_out: AtomicU64,
    heartbeats_in: AtomicU64,
    refused: AtomicU64,
    duplicate: AtomicU64,
    late: AtomicU64,
    foreign: AtomicU64,
    give_ups: AtomicU64,
}

/// Amounts that a burst of messages adds to the counters. They are summed first, so that the counters are touched once
/// a burst.
#[derive(Debug, Default)]
pub(crate) struct Burst {
    message_bytes: u64,
    payload_bytes: u64,
    other_bytes: u64,
    heartbeats: u64,
    /// Samples whose last part was among the messages.
    samples: u64,
    /// Bytes of those samples before their codec.
    tensor_bytes: u64,
}

impl Burst {
    /// Adds a message that is a part of a sample or an answer.
    pub(crate) fn message(&mut self, message_bytes: u64, payload_bytes: usize) {
        self.message_bytes += message_bytes;
        self.payload_bytes += payload_bytes as u64;
    }

    /// Adds a message that is no part of a sample or an answer.
    pub(crate) fn other(&mut self, message_bytes: u64) {
        self.other_bytes += message_bytes;
    }

    /// Adds a heartbeat.
    pub(crate) fn heartbeat(&mut self, message_bytes: u64) {
        self.other(message_bytes);
        self.heartbeats += 1;
    }

    /// Adds a sample whose last part was among the messages.
    pub(crate) fn sample(&mut self, tensor_bytes: u64) {
        self.samples += 1;
        self.tensor_bytes += tensor_bytes;
    }
}

/// The counters of one node as they stood when read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeCounts {
    /// Samples sent in full.
    pub samples_sent: u64,
    /// Bytes of the serialized Dispatch messages sent, without their length prefix and without Open.
    pub message_bytes_out: u64,
    /// Bytes of the serialized Dispatch messages received, without heartbeats.
    pub message_bytes_in: u64,
    /// Sample bytes inside the messages sent.
    pub payload_bytes_out: u64,
    /// Answer bytes inside the messages received.
    pub payload_bytes_in: u64,
    /// Bytes of the samples sent in full, before their codec: the sum of [`crate::Sample::tensor_bytes`].
    pub tensor_bytes_out: u64,
    /// Bytes of the answers received, after their codec.
    pub tensor_bytes_in: u64,
    /// Messages sent that carry no sample: each stream's Open, and heartbeats.
    pub other_bytes_out: u64,
    /// Messages received that carry no answer: heartbeats.
    pub other_bytes_in: u64,
    /// Heartbeats that were sent to the node.
    pub heartbeats_out: u64,
    /// Heartbeats that came from the node.
    pub heartbeats_in: u64,
    /// Samples that the node answered with an error.
    pub refused: u64,
    /// Answers to samples that had been answered.
    pub duplicate: u64,
    /// Answers to samples that had been given up.
    pub late: u64,
    /// Answers to ids that were never given out.
    pub foreign: u64,
    /// Samples that were given up and to which no answer has come, not even a late one. Messages of theirs that were
    /// under way may have been counted at one end only.
    pub unanswered: u64,
    /// Answers that came and were not inflated: they could not be, or the run ended first.
    pub not_inflated: u64,
}

fn add(counter: &AtomicU64, more: u64) {
    counter.store(counter.load(Relaxed).wrapping_add(more), Relaxed);
}

impl LaneCounters {
    /// Adds what was sent.
    pub(crate) fn add_burst(&self, burst: &Burst) {
        add(&self.message_bytes_out, burst.message_bytes);
        add(&self.payload_bytes_out, burst.payload_bytes);
        add(&self.tensor_bytes_out, burst.tensor_bytes);
        add(&self.other_bytes_out, burst.other_bytes);
        add(&self.heartbeats_out, burst.heartbeats);
        add(&self.samples_sent, burst.samples);
    }

    /// Adds what was received.
    pub(crate) fn received(&self, burst: &Burst) {
        add(&self.message_bytes_in, burst.message_bytes);
        add(&self.payload_bytes_in, burst.payload_bytes);
        add(&self.other_bytes_in, burst.other_bytes);
        add(&self.heartbeats_in, burst.heartbeats);
    }

    /// One more sample was answered with an error.
    pub(crate) fn refused(&self) {
        add(&self.refused, 1);
    }

    /// One more answer to a sample that had been answered.
    pub(crate) fn duplicate(&self) {
        add(&self.duplicate, 1);
    }

    /// One more answer to a sample that had been given up.
    pub(crate) fn late(&self) {
        add(&self.late, 1);
    }

    /// One more answer to an id that was never given out.
    pub(crate) fn foreign(&self) {
        add(&self.foreign, 1);
    }

    /// One more sample was given up.
    pub(crate) fn gave_up(&self) {
        add(&self.give_ups, 1);
    }

    /// Samples sent in full so far.
    pub(crate) fn samples_sent(&self) -> u64 {
        self.samples_sent.load(Relaxed)
    }

    /// The counters until now. The bytes of answers are those of their payloads: where answers are inflated,
    /// [`super::inflated::Inflated`] has the bytes after that.
    pub(crate) fn read(&self) -> NodeCounts {
        let get = |counter: &AtomicU64| counter.load(Relaxed);
        let late = get(&self.late);
        NodeCounts {
            samples_sent: get(&self.samples_sent),
            message_bytes_out: get(&self.message_bytes_out),
            message_bytes_in: get(&self.message_bytes_in),
            payload_bytes_out: get(&self.payload_bytes_out),
            payload_bytes_in: get(&self.payload_bytes_in),
            tensor_bytes_out: get(&self.tensor_bytes_out),
            tensor_bytes_in: get(&self.payload_bytes_in),
            other_bytes_out: get(&self.other_bytes_out),
            other_bytes_in: get(&self.other_bytes_in),
            heartbeats_out: get(&self.heartbeats_out),
            heartbeats_in: get(&self.heartbeats_in),
            refused: get(&self.refused),
            duplicate: get(&self.duplicate),
            late,
            foreign: get(&self.foreign),
            unanswered: get(&self.give_ups).saturating_sub(late),
            not_inflated: 0,
        }
    }
}

/// The counters of several lanes together.
impl Sum for NodeCounts {
    fn sum<I: Iterator<Item = NodeCounts>>(counts: I) -> NodeCounts {
        counts.fold(NodeCounts::default(), |a, b| NodeCounts {
            samples_sent: a.samples_sent + b.samples_sent,
            message_bytes_out: a.message_bytes_out + b.message_bytes_out,
            message_bytes_in: a.message_bytes_in + b.message_bytes_in,
            payload_bytes_out: a.payload_bytes_out + b.payload_bytes_out,
            payload_bytes_in: a.payload_bytes_in + b.payload_bytes_in,
            tensor_bytes_out: a.tensor_bytes_out + b.tensor_bytes_out,
            tensor_bytes_in: a.tensor_bytes_in + b.tensor_bytes_in,
            other_bytes_out: a.other_bytes_out + b.other_bytes_out,
            other_bytes_in: a.other_bytes_in + b.other_bytes_in,
            heartbeats_out: a.heartbeats_out + b.heartbeats_out,
            heartbeats_in: a.heartbeats_in + b.heartbeats_in,
            refused: a.refused + b.refused,
            duplicate: a.duplicate + b.duplicate,
            late: a.late + b.late,
            foreign: a.foreign + b.foreign,
            unanswered: a.unanswered + b.unanswered,
            not_inflated: a.not_inflated + b.not_inflated,
        })
    }
}
