//! One run at this node: what it is, what it has admitted, what it has counted. No I/O.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};

use bytes::Bytes;
use lon_proto::v1;
use tokio::sync::Notify;

use crate::config::Limits;

/// State of a run from `StartRun` until `EndRun`, or until its last stream is gone.
pub(crate) struct Run {
    pub(crate) id: Bytes,
    /// Who claimed the node, for others to see.
    pub(crate) client: String,
    pub(crate) limits: Limits,
    pub(crate) counters: Counters,
    /// Told whenever the number of streams changes.
    pub(crate) streams_changed: Notify,
    streams: AtomicUsize,
    had_stream: AtomicBool,
    inside: Mutex<Inside>,
    room: Notify,
    /// Samples that must be answered before a waiting Flush is; `u64::MAX` when none waits.
    flush_target: AtomicU64,
    flush_progress: Notify,
}

/// What the node holds for the run just now.
#[derive(Default)]
struct Inside {
    samples: u64,
    bytes: u64,
    /// A reader found no room and waits to be told of some.
    waiting: bool,
}

/// The node's own counters, returned by `EndRun`.
#[derive(Default)]
pub(crate) struct Counters {
    pub(crate) received: AtomicU64,
    pub(crate) answered: AtomicU64,
    pub(crate) failed: AtomicU64,
    pub(crate) message_bytes_in: AtomicU64,
    pub(crate) message_bytes_out: AtomicU64,
    pub(crate) payload_bytes_in: AtomicU64,
    pub(crate) payload_bytes_out: AtomicU64,
    pub(crate) heartbeats: AtomicU64,
}

impl Run {
    pub(crate) fn new(id: Bytes, client: String, limits: Limits) -> Run {
        Run {
            id,
            client,
            limits,
            counters: Counters::default(),
            streams_changed: Notify::new(),
            streams: AtomicUsize::new(0),
            had_stream: AtomicBool::new(false),
            inside: Mutex::default(),
            room: Notify::new(),
            flush_target: AtomicU64::new(u64::MAX),
            flush_progress: Notify::new(),
        }
    }

    /// The run id as people see it.
    pub(crate) fn name(&self) -> String {
        self.id.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    pub(crate) fn stream_opened(&self) {
        self.streams.fetch_add(1, SeqCst);
        self.had_stream.store(true, SeqCst);
        self.streams_changed.notify_one();
    }

    pub(crate) fn stream_closed(&self) {
        self.streams.fetch_sub(1, SeqCst);
        self.streams_changed.notify_one();
        // A reader of this stream may be waiting for room that now nobody will need.
        self.room.notify_waiters();
    }

    pub(crate) fn streams(&self) -> usize {
        self.streams.load(SeqCst)
    }

    pub(crate) fn had_stream(&self) -> bool {
        self.had_stream.load(SeqCst)
    }

    /// Takes a sample in when the limits allow it. One sample always fits into an empty node.
    pub(crate) fn try_admit(&self, bytes: u64) -> bool {
        let mut inside = self.inside.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = inside.samples < self.limits.max_samples_in_flight
            && inside.bytes.saturating_add(bytes) <= self.limits.max_bytes_in_flight;
        if fits || inside.samples == 0 {
            inside.samples += 1;
            inside.bytes += bytes;
            return true;
        }
        inside.waiting = true;
        false
    }

    /// Waits for room and takes the sample in; false when `closed` turned true meanwhile.
    pub(crate) async fn admit(&self, bytes: u64, closed: &AtomicBool) -> bool {
        loop {
            let room = self.room.notified();
            if self.try_admit(bytes) {
                return true;
            }
            if closed.load(SeqCst) {
                return false;
            }
            room.await;
        }
    }

    /// The answer to a sample of `bytes` has been handed to the network, or will never be.
    pub(crate) fn release(&self, bytes: u64) {
        let mut inside = self.inside.lock().unwrap_or_else(PoisonError::into_inner);
        inside.samples -= 1;
        inside.bytes -= bytes;
        let waiting = std::mem::take(&mut inside.waiting);
        drop(inside);
        if waiting {
            self.room.notify_waiters();
        }
    }

    /// Counts one answer and lets a Flush that waited for it go on.
    pub(crate) fn count_answer(&self, failed: bool) {
        if failed {
            self.counters.failed.fetch_add(1, Relaxed);
        }
        let answered = self.counters.answered.fetch_add(1, SeqCst) + 1;
        if answered >= self.flush_target.load(SeqCst) {
            self.flush_progress.notify_waiters();
        }
    }

    /// Returns when `samples` have been answered. `received` is called whenever all of them are in, so that the
    /// queue stops waiting for more.
    pub(crate) async fn flushed(&self, samples: u64, all_received: impl Fn()) {
        self.flush_target.store(0, SeqCst);
        loop {
            let progress = self.flush_progress.notified();
            if self.counters.received.load(SeqCst) >= samples {
                all_received();
            }
            if self.counters.answered.load(SeqCst) >= samples {
                break;
            }
            progress.await;
        }
        self.flush_target.store(u64::MAX, SeqCst);
    }

    /// A sample has come in whole.
    pub(crate) fn count_received(&self) {
        self.counters.received.fetch_add(1, SeqCst);
        if self.flush_target.load(SeqCst) != u64::MAX {
            self.flush_progress.notify_waiters();
        }
    }

    pub(crate) fn report(&self) -> v1::EndRunResponse {
        let counters = &self.counters;
        v1::EndRunResponse {
            samples_received: counters.received.load(SeqCst),
            samples_answered: counters.answered.load(SeqCst),
            samples_failed: counters.failed.load(Relaxed),
            message_bytes_in: counters.message_bytes_in.load(Relaxed),
            message_bytes_out: counters.message_bytes_out.load(Relaxed),
            payload_bytes_in: counters.payload_bytes_in.load(Relaxed),
            payload_bytes_out: counters.payload_bytes_out.load(Relaxed),
            heartbeats: counters.heartbeats.load(Relaxed),
        }
    }
}
