//! One run (or probe) at this node: what it is, what it has admitted, what it has counted. No I/O.

use std::net::IpAddr;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};

use bytes::Bytes;
use lon_net::nic::{self, Interface, Traffic};
use lon_proto::codec::Codec;
use lon_proto::v1;
use tokio::sync::Notify;

use crate::config::Limits;
use crate::host;
use crate::run::codecs::Codecs;
use crate::run::connections::{Wire, Wires};

/// What a caller claims the node for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Purpose {
    /// Inference, of samples and with answers in these codecs.
    Run(Codecs),
    /// To measure the fabric; no backend is asked.
    Probe,
}

/// State of a run from `StartRun` until `EndRun`, or until its last stream is gone.
pub(crate) struct Run {
    pub(crate) id: Bytes,
    /// Who claimed the node, for others to see.
    pub(crate) client: String,
    pub(crate) limits: Limits,
    pub(crate) codecs: Codecs,
    pub(crate) is_probe: bool,
    pub(crate) counters: Counters,
    /// The connections that its streams came over.
    wires: Mutex<Wires>,
    /// The interface that it was claimed through, and what that had carried before.
    nic: Option<(Interface, Traffic)>,
    /// Told whenever the number of streams changes.
    pub(crate) streams_changed: Notify,
    streams: AtomicUsize,
    had_stream: AtomicBool,
    inside: Mutex<Inside>,
    room: Notify,
    /// Flush calls that wait.
    flushes: AtomicUsize,
    flush_progress: Notify,
    ended: AtomicBool,
    /// Told once, when the run ends.
    end: Notify,
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
    /// Answered with outputs that hold a NaN.
    pub(crate) nan: AtomicU64,
    pub(crate) message_bytes_in: AtomicU64,
    pub(crate) message_bytes_out: AtomicU64,
    pub(crate) payload_bytes_in: AtomicU64,
    pub(crate) payload_bytes_out: AtomicU64,
    pub(crate) heartbeats: AtomicU64,
    /// Samples after inflating and answers before encoding, in a run with codecs; else the payload's count is theirs.
    pub(crate) raw_bytes_in: AtomicU64,
    pub(crate) raw_bytes_out: AtomicU64,
}

impl Run {
    /// A run of now, claimed at the address `local` of this host.
    pub(crate) fn new(id: Bytes, client: String, limits: Limits, purpose: Purpose, local: Option<IpAddr>) -> Run {
        let (codecs, is_probe) = match purpose {
            Purpose::Run(codecs) => (codecs, false),
            Purpose::Probe => (Codecs::NONE, true),
        };
        Run {
            id,
            client,
            limits,
            codecs,
            is_probe,
            counters: Counters::default(),
            wires: Mutex::default(),
            nic: local.and_then(nic::routed).and_then(|found| nic::traffic(&found.name).map(|now| (found, now))),
            streams_changed: Notify::new(),
            streams: AtomicUsize::new(0),
            had_stream: AtomicBool::new(false),
            inside: Mutex::default(),
            room: Notify::new(),
            flushes: AtomicUsize::new(0),
            flush_progress: Notify::new(),
            ended: AtomicBool::new(false),
            end: Notify::new(),
        }
    }

    /// What has the node, as people see it.
    pub(crate) fn title(&self) -> String {
        if self.is_probe {
            return format!("a probe from {}", self.client);
        }
        let id: String = self.id.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("run {id} from {}", self.client)
    }

    /// A stream of the run came over this connection.
    #[must_use]
    pub(crate) fn came_over(&self, wire: Wire) -> bool {
        self.wires.lock().unwrap_or_else(PoisonError::into_inner).add(wire)
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
            if closed.load(SeqCst) || self.has_ended() {
                return false;
            }
            room.await;
        }
    }

    /// The answers to samples of `bytes` in all have been handed to the network, or will never be.
    pub(crate) fn release(&self, samples: u64, bytes: u64) {
        if samples == 0 {
            return;
        }
        let mut inside = self.inside.lock().unwrap_or_else(PoisonError::into_inner);
        inside.samples -= samples;
        inside.bytes -= bytes;
        let waiting = std::mem::take(&mut inside.waiting);
        drop(inside);
        if waiting {
            self.room.notify_waiters();
        }
    }

    /// The same for samples of these sizes.
    pub(crate) fn release_all(&self, sizes: impl Iterator<Item = u64>) {
        let (samples, bytes) = sizes.fold((0, 0), |(samples, bytes), size| (samples + 1, bytes + size));
        self.release(samples, bytes);
    }

    /// Counts answers and lets a Flush that waited for them go on.
    pub(crate) fn count_answers(&self, count: u64, failed: u64) {
        self.counters.failed.fetch_add(failed, Relaxed);
        self.counters.answered.fetch_add(count, SeqCst);
        self.tell_flushes();
    }

    /// Counts an answer with a NaN in it. The first is worth a word at once.
    pub(crate) fn count_nan(&self) {
        if self.counters.nan.fetch_add(1, Relaxed) == 0 {
            tracing::warn!("{}: the model gave a NaN; the results say how often", self.title());
        }
    }

    /// Returns when `samples` have been answered (true) or the run is over (false). `all_received` is called whenever
    /// all of them are in, so that the queue stops waiting for more.
    pub(crate) async fn flushed(&self, samples: u64, all_received: impl Fn()) -> bool {
        let _waiting = Waiting::new(&self.flushes);
        loop {
            let progress = self.flush_progress.notified();
            if self.counters.received.load(SeqCst) >= samples {
                all_received();
            }
            if self.counters.answered.load(SeqCst) >= samples {
                return true;
            }
            if self.has_ended() {
                return false;
            }
            progress.await;
        }
    }

    /// Samples have come in whole.
    pub(crate) fn count_received(&self, count: u64) {
        self.counters.received.fetch_add(count, SeqCst);
        self.tell_flushes();
    }

    /// Something moved that a Flush may wait for. Costs next to nothing while none does.
    pub(crate) fn tell_flushes(&self) {
        if self.flushes.load(SeqCst) > 0 {
            self.flush_progress.notify_waiters();
        }
    }

    /// The run is over: nothing of it is read, computed or answered any more.
    pub(crate) fn end(&self) {
        self.ended.store(true, SeqCst);
        self.end.notify_waiters();
        self.flush_progress.notify_waiters();
        self.room.notify_waiters();
        self.streams_changed.notify_one();
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.ended.load(SeqCst)
    }

    /// Resolves when the run is over.
    pub(crate) async fn until_end(&self) {
        let end = self.end.notified();
        if !self.has_ended() {
            end.await;
        }
    }

    pub(crate) fn report(&self) -> v1::EndRunResponse {
        let counters = &self.counters;
        let crossed = self.wires.lock().unwrap_or_else(PoisonError::into_inner).crossed();
        let (payload_bytes_in, payload_bytes_out) =
            (counters.payload_bytes_in.load(Relaxed), counters.payload_bytes_out.load(Relaxed));
        // What has no codec is not counted twice on its way.
        let tensor = |codec: Codec, payload, raw: &AtomicU64| if codec.is_none() { payload } else { raw.load(Relaxed) };
        v1::EndRunResponse {
            samples_received: counters.received.load(SeqCst),
            samples_answered: counters.answered.load(SeqCst),
            samples_nan: counters.nan.load(Relaxed),
            samples_failed: counters.failed.load(Relaxed),
            message_bytes_in: counters.message_bytes_in.load(Relaxed),
            message_bytes_out: counters.message_bytes_out.load(Relaxed),
            payload_bytes_in,
            payload_bytes_out,
            heartbeats: counters.heartbeats.load(Relaxed),
            tensor_bytes_in: tensor(self.codecs.samples, payload_bytes_in, &counters.raw_bytes_in),
            tensor_bytes_out: tensor(self.codecs.answers, payload_bytes_out, &counters.raw_bytes_out),
            socket_bytes_in: crossed.bytes_in,
            socket_bytes_out: crossed.bytes_out,
            retransmits: crossed.retransmits,
            nic: self.nic.as_ref().and_then(|(interface, before)| {
                let Traffic { bytes_in, bytes_out } = nic::traffic(&interface.name)?.since(*before);
                Some(v1::NicTraffic { nic: Some(host::nic(interface.clone())), bytes_in, bytes_out })
            }),
        }
    }
}

/// What the log says of a run at its end.
pub(crate) fn in_words(report: &v1::EndRunResponse) -> String {
    let v1::EndRunResponse { samples_received, samples_answered, samples_failed, samples_nan, .. } = report;
    let nan = if *samples_nan > 0 { format!(", {samples_nan} with a NaN") } else { String::new() };
    let retransmits = report.retransmits.map_or_else(String::new, |count| format!(", {count} retransmits"));
    format!(
        "{samples_received} samples received, {samples_answered} answered ({samples_failed} of them failed{nan}); \
         {} bytes of samples in, {} bytes of answers out; {} and {} bytes on the sockets{retransmits}",
        report.payload_bytes_in, report.payload_bytes_out, report.socket_bytes_in, report.socket_bytes_out,
    )
}

/// Counts a waiter for as long as it waits, however that ends.
struct Waiting<'a>(&'a AtomicUsize);

impl Waiting<'_> {
    fn new(count: &AtomicUsize) -> Waiting<'_> {
        count.fetch_add(1, SeqCst);
        Waiting(count)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_run_is_told_in_words() {
        let report = v1::EndRunResponse {
            samples_received: 7,
            samples_answered: 6,
            samples_failed: 2,
            payload_bytes_in: 700,
            ..v1::EndRunResponse::default()
        };
        let words = in_words(&report);
        assert!(
            words.starts_with("7 samples received, 6 answered (2 of them failed); 700 bytes of samples in,"),
            "{words}"
        );
        let words = in_words(&v1::EndRunResponse { samples_nan: 3, ..report });
        assert!(words.contains("failed, 3 with a NaN)"), "{words}");
    }
}
