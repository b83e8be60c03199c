//! One Dispatch stream's state: what waits to be sent, what is in flight, what has come back. No I/O.
//!
//! Whoever issues puts samples into the *inlet*, the only part that other threads touch, under a lock that is held for
//! a push or a swap. The stream's own thread moves them on ([`Lane::fill`]), learns when they have left
//! ([`Departures`]) and settles them ([`Lane::accept`]). No lock is held across an await. Every sample that enters
//! leaves exactly once: answered, given up, or with the whole lane ([`Lane::fail_all`]).

mod calls;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::task::AtomicWaker;
use lon_net::flow::{Departures, FILL_BYTES};
use lon_net::framing::{Inbound, Incoming, Outbound};
use lon_proto::assembly::{Assembly, Part, Parts};
use lon_proto::v1::DispatchResponse;
use lon_proto::v1::dispatch_response::Kind;

use crate::counters::{Burst, LaneCounters};
use crate::error::failure_of;
use crate::slots::{Ended, Slots, Stranger};
use crate::text::printable;
use crate::types::{Answer, Failure, NodeFailure, NodeIndex, Outcome, Reply, Sample, SampleId, Stages};
use crate::warm;
pub(crate) use calls::Taken;

pub(crate) struct Lane {
    pub(crate) node: NodeIndex,
    max_answer_bytes: u64,
    inlet: Mutex<Inlet>,
    state: Mutex<State>,
    /// Written under the lock of `state`.
    pub(crate) counters: LaneCounters,
    writer: AtomicWaker,
    /// Samples assigned to this lane and not ended.
    outstanding: AtomicU64,
    outstanding_bytes: AtomicU64,
    /// Watch ticks since something was heard, or [`NOT_OPEN`].
    pub(crate) silent_ticks: AtomicU32,
    /// Nothing is sent any more; the stream ends.
    closing: AtomicBool,
    /// Its writer is to be woken when the thread that drives it does so next.
    pub(crate) filled: AtomicBool,
}

/// Samples on their way in from whoever issues.
struct Inlet {
    samples: VecDeque<Queued>,
    /// Everything was given up; nothing more is taken.
    dead: bool,
}

struct Queued {
    sample: Sample,
    since: Instant,
}

/// What the stream's own thread works on.
struct State {
    /// In the order in which they go out.
    unsent: VecDeque<Queued>,
    sending: Option<Sending>,
    /// Handed to the transport in full and not yet to the kernel: where each ends in the stream.
    leaving: VecDeque<Leaving>,
    slots: Slots<InFlight>,
    /// When the sample that is here longest came, or earlier; none when there is none.
    oldest: Option<Instant>,
    /// Timeouts in a row without an answer between them.
    stalls: u32,
}

struct Sending {
    wire_id: u64,
    parts: Parts,
    tensor_bytes: u64,
}

struct Leaving {
    wire_id: u64,
    end: u64,
}

struct InFlight {
    id: SampleId,
    bytes: u64,
    since: Instant,
    /// When its last part was handed over: to the transport at first, then to the kernel.
    sent_at: Option<Instant>,
    has_first_token: bool,
    /// Of an answer in several parts.
    assembly: Option<Box<Assembly>>,
}

/// Timeouts in a row, without an answer between them, after which a node counts as lost.
const MAX_STALLS: u32 = 3;

/// Nothing can be heard yet: opening has bounds of its own.
pub(crate) const NOT_OPEN: u32 = u32::MAX;

/// Replies settled under one lock at most.
const MAX_BURST: usize = 512;

/// What the reader should do after [`Lane::accept`].
#[derive(Debug, PartialEq)]
pub(crate) enum Accepted {
    /// Read on: no whole message is left.
    All,
    /// Deliver, and call again: there is more.
    More,
    /// The stream has said that it ends.
    End(Result<(), NodeFailure>),
}

impl Lane {
    pub(crate) fn new(node: NodeIndex, max_answer_bytes: u64) -> Lane {
        let since = Instant::now();
        let queued = || Queued { sample: Sample { id: SampleId(0), payload: Bytes::new(), tensor_bytes: 0 }, since };
        let mut slots = Slots::new();
        let in_flight =
            || InFlight { id: SampleId(0), bytes: 0, since, sent_at: None, has_first_token: false, assembly: None };
        slots.warm(warm::SAMPLES, in_flight);
        let leaving = warm::queue(|| Leaving { wire_id: 0, end: 0 });
        let (unsent, sending, oldest, stalls) = (warm::queue(queued), None, None, 0);
        Lane {
            node,
            max_answer_bytes,
            inlet: Mutex::new(Inlet { samples: warm::queue(queued), dead: false }),
            state: Mutex::new(State { unsent, sending, leaving, slots, oldest, stalls }),
            counters: LaneCounters::default(),
            writer: AtomicWaker::new(),
            outstanding: AtomicU64::new(0),
            outstanding_bytes: AtomicU64::new(0),
            silent_ticks: AtomicU32::new(NOT_OPEN),
            closing: AtomicBool::new(false),
            filled: AtomicBool::new(false),
        }
    }

    pub(crate) fn outstanding(&self) -> u64 {
        self.outstanding.load(Relaxed)
    }

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

    /// The writer will be woken through this.
    pub(crate) fn register_writer(&self, waker: &Waker) {
        self.writer.register(waker);
    }

    /// The stream is open: from now on something is to be heard of the node.
    pub(crate) fn opened(&self) {
        self.silent_ticks.store(0, Relaxed);
    }

    /// From now on the end of the stream is as it should be.
    pub(crate) fn expect_end(&self) {
        self.closing.store(true, SeqCst);
    }

    /// Ends the stream once the writer sees it.
    pub(crate) fn close(&self) {
        self.closing.store(true, SeqCst);
        self.writer.wake();
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.closing.load(SeqCst)
    }

    /// Nothing of what was assigned still waits to be sent.
    pub(crate) fn all_sent(&self) -> bool {
        let state = self.state();
        state.unsent.is_empty() && state.sending.is_none() && self.inlet().samples.is_empty()
    }

    /// Adds what waits to `out`, about [`FILL_BYTES`] at most; false when nothing waited.
    pub(crate) fn fill(&self, out: &mut Outbound) -> bool {
        let before = out.total();
        let mut state = self.state();
        if state.unsent.is_empty() {
            std::mem::swap(&mut state.unsent, &mut self.inlet().samples);
        }
        let now = Instant::now();
        let mut burst = Burst::default();
        while out.len() < FILL_BYTES && state.send_part(out, now, &mut burst) {}
        // Still under the lock: whoever finds nothing left to send must find all of it counted.
        self.counters.sent(&burst);
        out.total() > before
    }

    /// A message was sent by other means, or came, that is no part of a sample or an answer.
    pub(crate) fn count_other(&self, bytes_out: u64, bytes_in: u64) {
        let mut bursts = [Burst::default(), Burst::default()];
        bursts[0].other(bytes_out);
        bursts[1].other(bytes_in);
        let _writing = self.state();
        self.counters.sent(&bursts[0]);
        self.counters.received(&bursts[1]);
    }

    /// Takes the messages in `inbound`, all of which were there at `now`. What is in `replies` afterwards has ended, also
    /// when this fails.
    ///
    /// # Errors
    /// The node broke the protocol and cannot be trusted any more.
    pub(crate) fn accept(
        &self,
        inbound: &mut Inbound,
        now: Instant,
        replies: &mut Vec<Reply>,
    ) -> Result<Accepted, NodeFailure> {
        self.silent_ticks.store(0, Relaxed);
        let mut burst = Burst::default();
        let mut state = self.state();
        let outcome = loop {
            if replies.len() >= MAX_BURST {
                break Ok(Accepted::More);
            }
            match inbound.next_message::<DispatchResponse>() {
                Ok(Some(Incoming::Message(message, bytes))) if message.heartbeat.is_none() => {
                    burst.message(bytes, message.data.len());
                    if let Err(breach) = self.settle(&mut state, message, now, replies) {
                        break Err(NodeFailure::Protocol(breach));
                    }
                }
                Ok(Some(Incoming::Message(_, bytes))) => burst.other(bytes),
                Ok(Some(Incoming::End(how))) => {
                    break Ok(Accepted::End(how.map_err(|(code, text)| failure_of(&tonic::Status::new(code, text)))));
                }
                Ok(None) => break Ok(Accepted::All),
                Err(status) => break Err(failure_of(&status)),
            }
        };
        self.counters.received(&burst);
        outcome
    }

    /// One message.
    fn settle(
        &self,
        state: &mut State,
        message: DispatchResponse,
        now: Instant,
        replies: &mut Vec<Reply>,
    ) -> Result<(), String> {
        let kind = message.kind();
        let DispatchResponse { id: wire_id, part, last, total_len, data, n_tokens, stages, error, .. } = message;
        let in_flight = match state.slots.get_mut(wire_id) {
            Ok(in_flight) => in_flight,
            Err(stranger) => {
                if stranger == Stranger::Late {
                    // Too slow for us, but not standing still.
                    state.stalls = 0;
                }
                self.counters.stranger(stranger, last);
                return Ok(());
            }
        };
        if in_flight.sent_at.is_none() {
            return Err("it answered a sample that it had not been sent in full".to_owned());
        }
        if !error.is_empty() {
            let failure = Failure::Refused(printable(&error));
            replies.extend(self.end(state, wire_id, now, Ended::Answered, Outcome::Failed(failure)));
            return Ok(());
        }
        let part = Part { number: part, last, total_len, data };
        let Some(data) = in_flight.assemble(part, self.max_answer_bytes)? else { return Ok(()) };
        if kind == Kind::First {
            if std::mem::replace(&mut in_flight.has_first_token, true) {
                return Err("it sent the first token of a sample twice".to_owned());
            }
            let (id, sent_at, outcome) = (in_flight.id, in_flight.sent_at, Outcome::FirstToken(data));
            replies.push(Reply { id, node: Some(self.node), sent_at, at: now, outcome });
            return Ok(());
        }
        let stages = stages.map(stages_of).unwrap_or_default();
        let done = Outcome::Done(Answer { data, n_tokens, stages });
        replies.extend(self.end(state, wire_id, now, Ended::Answered, done));
        Ok(())
    }

    fn end(&self, state: &mut State, wire_id: u64, now: Instant, how: Ended, outcome: Outcome) -> Option<Reply> {
        let InFlight { id, sent_at, bytes, .. } = state.slots.end(wire_id, how).ok()?;
        match how {
            Ended::Answered => state.stalls = 0,
            Ended::GivenUp => self.counters.gave_up(),
        }
        self.left(bytes);
        Some(Reply { id, node: Some(self.node), sent_at, at: now, outcome })
    }

    fn left(&self, bytes: u64) {
        self.outstanding.fetch_sub(1, Relaxed);
        self.outstanding_bytes.fetch_sub(bytes, Relaxed);
    }

    /// Ends a sample that was never sent. Under the lock of the state.
    fn drop_unsent(&self, queued: &Queued, now: Instant, failure: Failure) -> Reply {
        self.left(queued.sample.payload.len() as u64);
        self.counters.gave_up();
        let (id, outcome) = (queued.sample.id, Outcome::Failed(failure));
        Reply { id, node: Some(self.node), sent_at: None, at: now, outcome }
    }

    /// Gives up on samples that were sent, or could not be sent, more than `timeout` ago. True when the node answers
    /// nothing any more: timeouts have followed each other without an answer between them.
    pub(crate) fn expire(&self, now: Instant, timeout: Duration, replies: &mut Vec<Reply>) -> bool {
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

    /// Gives up on everything: the lane is of no use any more.
    pub(crate) fn fail_all(&self, now: Instant, failure: &Failure, replies: &mut Vec<Reply>) {
        self.close();
        let mut state = self.state();
        let state = &mut *state;
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

    /// Always before [`Lane::inlet`] when both are held.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
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
}

impl State {
    /// Adds the next part of the sample that is being sent, or of the next one; false when there is none.
    fn send_part(&mut self, out: &mut Outbound, now: Instant, burst: &mut Burst) -> bool {
        if self.sending.is_none() {
            let Some(Queued { sample, since }) = self.unsent.pop_front() else { return false };
            let Sample { id, payload, tensor_bytes } = sample;
            let bytes = payload.len() as u64;
            let wire_id =
                self.slots.insert(InFlight { id, bytes, since, sent_at: None, has_first_token: false, assembly: None });
            self.oldest.get_or_insert(since);
            self.sending = Some(Sending { wire_id, parts: Parts::new(payload), tensor_bytes });
        }
        let Some(sending) = self.sending.as_mut() else { return false };
        let wire_id = sending.wire_id;
        let Some(part) = sending.parts.next() else {
            self.sending = None;
            return true;
        };
        let (last, data_len) = (part.last, part.data.len());
        burst.message(out.push_request(wire_id, part), data_len);
        if last {
            burst.sample(sending.tensor_bytes);
            self.leaving.push_back(Leaving { wire_id, end: out.total() });
            self.sending = None;
            // It may have been given up between its parts; the node got it whole all the same.
            if let Ok(in_flight) = self.slots.get_mut(wire_id) {
                in_flight.sent_at = Some(now);
            }
        }
        true
    }
}

impl InFlight {
    /// One part of the answer; the whole of it with its last one. A single part is passed on as it is.
    fn assemble(&mut self, part: Part, max: u64) -> Result<Option<Bytes>, String> {
        if part.number == 0 && part.last && self.assembly.is_none() {
            return Assembly::default().push(part, max).map_err(|error| error.to_string());
        }
        let whole = self.assembly.get_or_insert_default().push(part, max).map_err(|error| error.to_string())?;
        if whole.is_some() {
            self.assembly = None;
        }
        Ok(whole)
    }
}

fn stages_of(stages: lon_proto::v1::Stages) -> Stages {
    let lon_proto::v1::Stages { decode_ns, preprocess_ns, queue_ns, batch_ns, inference_ns, postprocess_ns, encode_ns } =
        stages;
    Stages { decode_ns, preprocess_ns, queue_ns, batch_ns, inference_ns, postprocess_ns, encode_ns, inflate_ns: 0 }
}

#[cfg(test)]
mod tests;
