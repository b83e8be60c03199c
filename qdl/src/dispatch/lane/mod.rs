//! One Dispatch stream's state: what waits to be sent, what is in flight, what has come back. No I/O.
//!
//! A thread that issues puts samples into the *inlet*, the only part that several threads touch, under a lock that is
//! held for a push or a swap. The stream's own thread moves them on ([`Lane::fill`]), is told when they have left
//! ([`Departures`]) and settles them ([`Lane::accept`]). No lock is held across an await. Every sample that enters
//! leaves exactly once: answered, given up, or with the whole lane ([`Lane::fail_all`]).
//!
//! `state` holds the samples, `answers` reads what the node sends, `calls` is for lanes whose samples are calls of
//! their own.

mod answers;
mod calls;
mod state;

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::{Duration, Instant};

use futures_util::task::AtomicWaker;
use lon_net::clock;
use lon_net::flow::{Departures, FILL_BYTES};
use lon_net::framing::Outbound;
use lon_proto::v1::{DispatchRequest, Heartbeat};

use super::expected::Expected;
use super::slots::Ended;
use crate::account::counters::{Burst, LaneCounters};
use crate::types::{Failure, NodeIndex, Outcome, Reply, Sample};
pub(crate) use answers::Accepted;
pub(crate) use calls::Taken;
use state::{InFlight, Inlet, Leaving, Queued, State};

/// Timeouts in a row, without an answer between them, after which a node counts as lost.
const MAX_STALLS: u32 = 3;

/// Value of [`Lane::silent_ticks`] before the stream is open: opening has a timeout of its own.
pub(crate) const NOT_OPEN: u32 = u32::MAX;

/// One lane: what one Dispatch stream, or one connection of calls, carries.
pub(crate) struct Lane {
    pub(crate) node: NodeIndex,
    expected: Expected,
    inlet: Mutex<Inlet>,
    state: Mutex<State>,
    /// Counters of the lane. They are written under the lock of `state`.
    pub(crate) counters: LaneCounters,
    writer: AtomicWaker,
    /// Samples assigned to this lane that have not ended,
    outstanding: AtomicU64,
    /// and the bytes of their payloads.
    outstanding_bytes: AtomicU64,
    /// Ticks of the watch since the node was heard of on this lane, or [`NOT_OPEN`].
    pub(crate) silent_ticks: AtomicU32,
    /// Bytes came since messages were taken last: those of a frame that is not whole yet, when it stays so.
    data_came: AtomicBool,
    /// The writer is to send a heartbeat when it has nothing else to say.
    heartbeat_due: AtomicBool,
    /// Time for which writes waited for room, ns, where the socket does not count it.
    blocked_ns: AtomicU64,
    wait_ns: AtomicU64,
    /// Nothing is sent any more; the stream ends.
    closing: AtomicBool,
    /// The writer is to be woken when the thread that drives the lane next does its network work.
    pub(crate) filled: AtomicBool,
}

impl Lane {
    /// A lane to `node` without samples, whose stream is not open yet, with room for `room` samples from the start.
    pub(crate) fn new(node: NodeIndex, expected: Expected, room: usize) -> Lane {
        let now = clock::now();
        Lane {
            node,
            expected,
            inlet: Mutex::new(Inlet::new(now, room)),
            state: Mutex::new(State::new(now, room)),
            counters: LaneCounters::default(),
            writer: AtomicWaker::new(),
            outstanding: AtomicU64::new(0),
            outstanding_bytes: AtomicU64::new(0),
            silent_ticks: AtomicU32::new(NOT_OPEN),
            data_came: AtomicBool::new(false),
            heartbeat_due: AtomicBool::new(false),
            blocked_ns: AtomicU64::new(0),
            wait_ns: AtomicU64::new(0),
            closing: AtomicBool::new(false),
            filled: AtomicBool::new(false),
        }
    }

    /// Samples assigned to this lane that have not ended.
    pub(crate) fn outstanding(&self) -> u64 {
        self.outstanding.load(Relaxed)
    }

    /// Returns the limits on answers.
    pub(crate) fn expected(&self) -> &Expected {
        &self.expected
    }

    /// Returns the time for which writes waited for room, where the socket does not count it.
    pub(crate) fn blocked(&self) -> Duration {
        Duration::from_nanos(self.blocked_ns.load(Relaxed))
    }

    /// HTTP/2 took nothing more for so long.
    pub(crate) fn record_wait(&self, waited: Duration) {
        self.wait_ns.fetch_add(waited.as_nanos() as u64, Relaxed);
    }

    /// Time in which HTTP/2 took nothing more, all together.
    pub(crate) fn http2_held(&self) -> Duration {
        Duration::from_nanos(self.wait_ns.load(Relaxed))
    }

    /// Bytes of those samples' payloads.
    pub(crate) fn outstanding_bytes(&self) -> u64 {
        self.outstanding_bytes.load(Relaxed)
    }

    /// Assigns a sample to this lane; true when its writer may be asleep and must be woken.
    ///
    /// # Errors
    /// The sample comes back: the lane is dead.
    pub(crate) fn push(&self, sample: Sample, now: Instant) -> Result<bool, Sample> {
        let bytes = sample.payload.len() as u64;
        let mut inlet = self.inlet();
        if inlet.dead {
            return Err(sample);
        }
        self.outstanding.fetch_add(1, Relaxed);
        self.outstanding_bytes.fetch_add(bytes, Relaxed);
        inlet.samples.push_back(Queued { sample, since: now });
        // A writer that was woken for the first of them takes them all.
        Ok(inlet.samples.len() == 1)
    }

    /// Wakes the writer to look again.
    pub(crate) fn wake(&self) {
        self.writer.wake();
    }

    /// From now on the writer is woken through `waker`.
    pub(crate) fn register_writer(&self, waker: &Waker) {
        self.writer.register(waker);
    }

    /// The stream is open. From now on silence on it counts.
    pub(crate) fn opened(&self) {
        self.state().heard_at = clock::now();
        self.silent_ticks.store(0, Relaxed);
    }

    /// From now on the end of the stream is no failure.
    pub(crate) fn expect_end(&self) {
        self.closing.store(true, SeqCst);
    }

    /// Ends the stream once the writer sees it.
    pub(crate) fn close(&self) {
        self.closing.store(true, SeqCst);
        self.writer.wake();
    }

    /// The stream is to end, or may end.
    pub(crate) fn is_closing(&self) -> bool {
        self.closing.load(SeqCst)
    }

    /// Nothing of what was assigned still waits to be sent.
    pub(crate) fn all_sent(&self) -> bool {
        let state = self.state();
        state.unsent.is_empty() && state.sending.is_none() && self.inlet().samples.is_empty()
    }

    /// Adds samples that wait to `out`, about [`FILL_BYTES`] at most; false when none waited.
    pub(crate) fn fill(&self, out: &mut Outbound) -> bool {
        let before = out.total();
        let mut state = self.state();
        // The inlet is emptied by a swap, so that its lock is held for a moment only.
        if state.unsent.is_empty() {
            std::mem::swap(&mut state.unsent, &mut self.inlet().samples);
        }
        let now = clock::now();
        let mut burst = Burst::default();
        while out.len() < FILL_BYTES && state.send_part(out, now, &mut burst) {}
        // Still under the lock: a thread that finds nothing left to send must find all of it counted.
        self.counters.add_burst(&burst);
        let some = out.total() > before;
        state.quiet_ticks = if some { 0 } else { state.quiet_ticks };
        some
    }

    /// Adds a heartbeat to `out` when one is due; false when none is.
    pub(crate) fn fill_heartbeat(&self, out: &mut Outbound) -> bool {
        let is_due = self.heartbeat_due.load(Relaxed) && self.heartbeat_due.swap(false, Relaxed);
        if is_due {
            let mut burst = Burst::default();
            burst.heartbeat(out.push_message(&heartbeat()));
            let _writing = self.state();
            self.counters.add_burst(&burst);
        }
        is_due
    }

    /// A tick of the watch over an open stream: a stream on which nothing was sent for `after` ticks says that it is
    /// there.
    pub(crate) fn keep_alive(&self, after: u32) {
        let mut state = self.state();
        state.quiet_ticks += 1;
        if state.quiet_ticks >= after {
            state.quiet_ticks = 0;
            drop(state);
            self.heartbeat_due.store(true, Relaxed);
            self.wake();
        }
    }

    /// A tick of the watch: bytes that came count, although their frame is not whole yet. On a slow link that can take
    /// longer than a node may be silent.
    pub(crate) fn hear_partly(&self, now: Instant) {
        if self.data_came.swap(false, Relaxed) {
            self.silent_ticks.store(0, Relaxed);
            self.state().heard(now);
        }
    }

    /// When something came last.
    pub(crate) fn heard_at(&self) -> Instant {
        self.state().heard_at
    }

    /// When something came last, and the gaps longer than heartbeats allow since this was asked before.
    pub(crate) fn take_gaps(&self) -> (Instant, Vec<(Instant, Instant)>) {
        let mut state = self.state();
        (state.heard_at, std::mem::take(&mut state.gaps))
    }

    /// Counts a message sent that is no part of a sample, such as Open.
    pub(crate) fn count_other(&self, bytes_out: u64) {
        let mut burst = Burst::default();
        burst.other(bytes_out);
        // The lock makes this the only thread that writes the counters.
        let _writing = self.state();
        self.counters.add_burst(&burst);
    }

    /// Counts a heartbeat that was received.
    pub(crate) fn count_heartbeat(&self, bytes_in: u64) {
        let mut burst = Burst::default();
        burst.heartbeat(bytes_in);
        let _writing = self.state();
        self.counters.received(&burst);
    }

    /// Ends a sample that was sent, at least in part; `None` when it has ended before. An answer that comes too late
    /// fails its sample, also where [`Lane::expire`] has not come to it yet.
    fn end(&self, state: &mut State, wire_id: u64, now: Instant, how: Ended, outcome: Outcome) -> Option<Reply> {
        let InFlight { id, sent_at, bytes, .. } = state.slots.end(wire_id, how).ok()?;
        match how {
            Ended::Answered => state.stalls = 0,
            Ended::GivenUp => self.counters.gave_up(),
        }
        let within = self.expected.within;
        let is_late = sent_at.is_some_and(|sent_at| now.saturating_duration_since(sent_at) > within);
        let outcome = match outcome {
            Outcome::Done(_) if is_late => {
                self.counters.gave_up();
                self.counters.late();
                Outcome::Failed(Failure::TimedOut(within))
            }
            outcome => outcome,
        };
        self.forget(bytes);
        Some(Reply { id, node: Some(self.node), sent_at, at: now, outcome })
    }

    fn forget(&self, bytes: u64) {
        self.outstanding.fetch_sub(1, Relaxed);
        self.outstanding_bytes.fetch_sub(bytes, Relaxed);
    }

    /// Ends a sample that was never sent. To be called under the lock of the state.
    fn drop_unsent(&self, queued: &Queued, now: Instant, failure: Failure) -> Reply {
        self.forget(queued.sample.payload.len() as u64);
        self.counters.gave_up();
        let (id, outcome) = (queued.sample.id, Outcome::Failed(failure));
        Reply { id, node: Some(self.node), sent_at: None, at: now, outcome }
    }

    /// Gives up on samples that were sent, or should have been, longer ago than an answer may take. True when the node
    /// answers nothing any more: this has happened several times without an answer between them.
    pub(crate) fn expire(&self, now: Instant, replies: &mut Vec<Reply>) -> bool {
        let timeout = self.expected.within;
        let overdue = |since: Instant| now.saturating_duration_since(since) >= timeout;
        let mut state = self.state();
        let before = replies.len();
        state.unsent.append(&mut self.inlet().samples);
        while state.unsent.front().is_some_and(|queued| overdue(queued.since)) {
            let queued = state.unsent.pop_front();
            replies.extend(queued.map(|queued| self.drop_unsent(&queued, now, Failure::TimedOut(timeout))));
        }
        // Looks at every slot only when the oldest one could be due; with a timeout of a minute, once a minute.
        if state.oldest.is_some_and(overdue) {
            let since = |in_flight: &InFlight| in_flight.sent_at.unwrap_or(in_flight.since);
            let slots = state.slots.open();
            let ids: Vec<u64> = slots.filter(|(_, value)| overdue(since(value))).map(|(id, _)| id).collect();
            for wire_id in ids {
                let outcome = Outcome::Failed(Failure::TimedOut(timeout));
                replies.extend(self.end(&mut state, wire_id, now, Ended::GivenUp, outcome));
            }
            state.oldest = state.slots.open().map(|(_, value)| since(value)).min();
        }
        state.stalls += u32::from(replies.len() > before);
        state.stalls >= MAX_STALLS
    }

    /// Fails every sample of the lane, which takes no more.
    pub(crate) fn fail_all(&self, now: Instant, failure: &Failure, replies: &mut Vec<Reply>) {
        self.close();
        let mut state = self.state();
        let state = &mut *state;
        // The lock stays to the end, so that no sample comes in behind those that fail here.
        let mut inlet = self.inlet();
        inlet.dead = true;
        let unsent = state.unsent.drain(..).chain(inlet.samples.drain(..));
        replies.extend(unsent.map(|queued| self.drop_unsent(&queued, now, failure.clone())));
        state.sending = None;
        let ids: Vec<u64> = state.slots.open().map(|(id, _)| id).collect();
        for wire_id in ids {
            replies.extend(self.end(state, wire_id, now, Ended::GivenUp, Outcome::Failed(failure.clone())));
        }
    }

    fn inlet(&self) -> MutexGuard<'_, Inlet> {
        self.inlet.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// To be locked before [`Lane::inlet`] when both are held.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn heartbeat() -> DispatchRequest {
    DispatchRequest { heartbeat: Some(Heartbeat {}), ..DispatchRequest::default() }
}

impl Departures for Lane {
    fn departed(&self, total: u64, at: Instant) {
        let mut state = self.state();
        let state = &mut *state;
        while state.leaving.front().is_some_and(|leaving| leaving.end <= total) {
            if let Some(Leaving { wire_id, .. }) = state.leaving.pop_front()
                && let Ok(in_flight) = state.slots.get_mut(wire_id)
            {
                in_flight.sent_at = Some(at);
            }
        }
    }

    fn blocked(&self, waited: Duration) {
        self.blocked_ns.fetch_add(waited.as_nanos() as u64, Relaxed);
    }

    fn data_arrived(&self) {
        self.data_came.store(true, Relaxed);
    }
}

#[cfg(test)]
mod tests;
