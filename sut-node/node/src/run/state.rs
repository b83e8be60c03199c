//! One tenant of a run, or a probe: who claimed the node for it, which streams it has, what was answered, and when it
//! is over.

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use lon_machine::nic::{self, Interface, Traffic};
use lon_net::path::Path;
use lon_net::thread_time::ThreadTime;
use lon_proto::run_identity::RunPass;
use tokio::sync::Notify;
use tonic::Status;

use super::admission::Admission;
use super::codecs::Codecs;
use super::connections::{Connection, Connections, SocketTraffic};
use super::counters::Counters;
use super::failure::FailureCounts;
use super::presence::Presence;
use crate::config::Limits;

/// Purpose that a client claims the node for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Purpose {
    /// Inference, with samples and answers in these codecs.
    Run(Codecs),
    /// To measure the fabric. The node answers without its backend.
    Probe,
}

/// One tenant of a run, or a probe: from `StartRun` until `EndRun`, or until its last stream is gone.
pub(crate) struct ClaimedRun {
    /// Id and secret that its client has to show.
    pub(crate) pass: RunPass,
    /// Name of the client that claimed the node, as others may see it.
    client: String,
    /// The number of the node's model that it asks.
    pub(crate) model: usize,
    /// Its name among the tenants of its claim, for people; none where the claim names none.
    tenant: Option<String>,
    pub(crate) limits: Limits,
    pub(crate) codecs: Codecs,
    pub(crate) is_probe: bool,
    pub(crate) counters: Counters,
    /// Samples and bytes of the run that the node holds at this moment, with their bounds.
    pub(crate) admission: Admission,
    /// Presence of the client: whether anything still comes from it.
    pub(crate) presence: Presence,
    connections: Mutex<Connections>,
    /// The address of this host that it was claimed at.
    local: Option<IpAddr>,
    /// The interface that the run was claimed through, and what it had carried before.
    nic: Option<(Interface, Traffic)>,
    /// Processor time of this process before the run.
    time_before: Option<ThreadTime>,
    /// Signal for each change in the number of streams, and for the end of the run.
    pub(crate) streams_changed: Notify,
    streams: AtomicUsize,
    had_stream: AtomicBool,
    /// Flush calls that wait.
    flushes: AtomicUsize,
    flush_progress: Notify,
    has_ended: AtomicBool,
    /// Why the node has ended the run by itself; empty when its client has ended it.
    taken_back: OnceLock<Status>,
    /// Signal for the end of the run. It comes once.
    end: Notify,
}

impl ClaimedRun {
    /// A run that begins now. `local` is the address of this host that it was claimed at, if that is known.
    pub(crate) fn new(
        pass: RunPass,
        client: String,
        limits: Limits,
        purpose: Purpose,
        local: Option<IpAddr>,
    ) -> ClaimedRun {
        let (codecs, is_probe) = match purpose {
            Purpose::Run(codecs) => (codecs, false),
            Purpose::Probe => (Codecs::NONE, true),
        };
        ClaimedRun {
            pass,
            client,
            model: 0,
            tenant: None,
            limits,
            codecs,
            is_probe,
            counters: Counters::default(),
            admission: Admission::new(&limits),
            presence: Presence::default(),
            connections: Mutex::default(),
            local,
            nic: local
                .and_then(nic::routed)
                .and_then(|interface| nic::traffic(&interface.name).map(|now| (interface, now))),
            time_before: ThreadTime::of_process_lately(),
            streams_changed: Notify::new(),
            streams: AtomicUsize::new(0),
            had_stream: AtomicBool::new(false),
            flushes: AtomicUsize::new(0),
            flush_progress: Notify::new(),
            has_ended: AtomicBool::new(false),
            taken_back: OnceLock::new(),
            end: Notify::new(),
        }
    }

    /// Makes it a tenant that asks the model of this number; `tenant` is its name among the tenants of its claim.
    pub(crate) fn of_tenant(mut self, model: usize, tenant: Option<String>) -> ClaimedRun {
        (self.model, self.tenant) = (model, tenant);
        self
    }

    /// Returns the name of the run, for people: that of its claim, or of its tenant there.
    pub(crate) fn title(&self) -> String {
        let claim = self.claim_title();
        self.tenant.as_ref().map_or_else(|| claim.clone(), |tenant| format!("{tenant} of {claim}"))
    }

    /// Returns the name of the claim, for people: `run NAME from CLIENT`, with the short name that the client logs,
    /// too.
    pub(crate) fn claim_title(&self) -> String {
        let what = if self.is_probe { "probe" } else { "run" };
        format!("{what} {} from {}", self.pass.name(), self.client)
    }

    /// Notes that a stream of the run came over this connection. False when the run has too many connections.
    #[must_use]
    pub(crate) fn came_over(&self, connection: Arc<dyn Connection>) -> bool {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner).add(connection)
    }

    /// Returns the traffic of the run's connections until now, or until they were closed.
    pub(crate) fn socket_traffic(&self) -> SocketTraffic {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner).traffic()
    }

    /// Counts no more of the connections from here on.
    pub(crate) fn close_traffic(&self) {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner).close();
    }

    /// Returns the path that the run's connections send by, as far as it is known.
    pub(crate) fn path(&self) -> Option<Path> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner).path()
    }

    /// The address of this host that the run was claimed at, if it is known.
    pub(crate) fn local(&self) -> Option<IpAddr> {
        self.local
    }

    /// The interface that the run was claimed through, and what it had carried before; `None` when that is not known.
    pub(crate) fn nic(&self) -> Option<&(Interface, Traffic)> {
        self.nic.as_ref()
    }

    /// Processor time of this process since the run began; `None` when the system does not report it.
    pub(crate) fn processor_time(&self) -> Option<ThreadTime> {
        Some(ThreadTime::of_process_lately()?.since(self.time_before?))
    }

    /// Counts a stream that was opened.
    pub(crate) fn stream_opened(&self) {
        self.streams.fetch_add(1, SeqCst);
        self.had_stream.store(true, SeqCst);
        self.streams_changed.notify_one();
    }

    /// Counts a stream that is gone.
    pub(crate) fn stream_closed(&self) {
        self.streams.fetch_sub(1, SeqCst);
        self.streams_changed.notify_one();
        // A reader of this stream may be waiting for room that nobody will need any more.
        self.admission.ask_again();
    }

    /// Returns the number of open streams.
    pub(crate) fn streams(&self) -> usize {
        self.streams.load(SeqCst)
    }

    /// Returns true when a stream was ever opened.
    pub(crate) fn had_stream(&self) -> bool {
        self.had_stream.load(SeqCst)
    }

    /// Counts samples that have come in whole.
    pub(crate) fn count_received(&self, count: u64) {
        self.counters.received.fetch_add(count, SeqCst);
        self.tell_flushes();
    }

    /// Counts answers, `failed` of them errors, and lets a Flush that waited for them go on.
    pub(crate) fn count_answers(&self, count: u64, failed: &FailureCounts) {
        self.counters.add_failed(failed);
        self.counters.answered.fetch_add(count, SeqCst);
        self.tell_flushes();
    }

    /// Counts an answer with a NaN in it. The first one is logged at once.
    pub(crate) fn count_nan(&self) {
        if self.counters.nan.fetch_add(1, Relaxed) == 0 {
            tracing::warn!(run = self.title(), "the model gave a NaN: the results say how often");
        }
    }

    /// Returns when `samples` have been answered (true) or the run is over (false). `all_received` is called whenever
    /// all of them are in, so that the queue stops waiting for more.
    pub(crate) async fn flushed(&self, samples: u64, all_received: impl Fn()) -> bool {
        let _waiting = Waiting::new(&self.flushes);
        loop {
            // The registration precedes the check, so that progress in between is not missed.
            let progress = self.flush_progress.notified();
            if self.counters.received() >= samples {
                all_received();
            }
            if self.counters.answered() >= samples {
                return true;
            }
            if self.has_ended() {
                return false;
            }
            progress.await;
        }
    }

    /// Has every Flush that waits look again. Costs next to nothing while none does.
    pub(crate) fn tell_flushes(&self) {
        if self.flushes.load(SeqCst) > 0 {
            self.flush_progress.notify_waiters();
        }
    }

    /// Says, before the run is ended, that the node ends it by itself, and why. Its streams end with that.
    pub(crate) fn take_back(&self, why: Status) {
        let _ = self.taken_back.set(why);
    }

    /// Returns the result that the streams of an ended run end with.
    pub(crate) fn how_ended(&self) -> Result<(), Status> {
        self.taken_back.get().map_or(Ok(()), |why| Err(why.clone()))
    }

    /// Ends the run: nothing of it is read, computed or answered any more.
    pub(crate) fn end(&self) {
        self.has_ended.store(true, SeqCst);
        self.close_traffic();
        self.end.notify_waiters();
        self.flush_progress.notify_waiters();
        self.admission.ask_again();
        self.streams_changed.notify_one();
    }

    /// Returns true when the run is over.
    pub(crate) fn has_ended(&self) -> bool {
        self.has_ended.load(SeqCst)
    }

    /// Resolves when the run is over.
    pub(crate) async fn until_end(&self) {
        let end = self.end.notified();
        if !self.has_ended() {
            end.await;
        }
    }
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
