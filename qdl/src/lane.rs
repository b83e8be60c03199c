//! One Dispatch stream's state: what waits to be sent, what is in flight, what has come back. No I/O.
//!
//! A lane is filled by whoever issues, emptied towards the wire by the stream's writer ([`Lane::next_message`]) and
//! settled by its reader ([`Lane::accept`]). The lock is held for a few loads and stores, never across an await.
//! Every sample that enters leaves exactly once: answered, given up, or with the whole lane ([`Lane::fail_all`]).

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::task::AtomicWaker;
use lon_proto::assembly::{Assembly, Part, Parts};
use lon_proto::v1::dispatch_response::Kind;
use lon_proto::v1::{DispatchRequest, DispatchResponse};
use prost::Message as _;

use crate::counters::NodeCounters;
use crate::slots::{Ended, Slots, Stranger};
use crate::text::printable;
use crate::types::{Answer, Failure, NodeIndex, Outcome, Reply, Sample, SampleId, Stages};

pub(crate) struct Lane {
    pub(crate) node: NodeIndex,
    max_answer_bytes: u64,
    state: Mutex<State>,
    writer: AtomicWaker,
    /// Samples assigned to this lane and not ended.
    outstanding: AtomicU64,
    outstanding_bytes: AtomicU64,
    /// Watch ticks since something was heard.
    pub(crate) silent_ticks: AtomicU32,
    /// Nothing is sent any more; the stream ends.
    closing: AtomicBool,
}

struct State {
    /// Wire ids in the order in which they go out.
    unsent: VecDeque<u64>,
    sending: Option<Sending>,
    slots: Slots<InFlight>,
    /// When the sample that is here longest came, or earlier; none when there is none.
    oldest: Option<Instant>,
    /// Timeouts in a row without an answer between them.
    stalls: u32,
    /// Everything was given up; nothing more is taken.
    dead: bool,
}

struct Sending {
    wire_id: u64,
    parts: Parts,
}

struct InFlight {
    id: SampleId,
    /// Taken when its first part goes out.
    payload: Bytes,
    bytes: u64,
    since: Instant,
    sent_at: Option<Instant>,
    assembly: Assembly,
}

/// Timeouts in a row, without an answer between them, after which a node counts as lost.
const MAX_STALLS: u32 = 3;

/// What the reader should do about a message.
#[derive(Debug)]
pub(crate) enum Accepted {
    Reply(Reply),
    /// A part with more to come, a heartbeat, or a stranger that was counted.
    Nothing,
    /// The node broke the protocol and cannot be trusted any more.
    Breach(String),
}

impl Lane {
    pub(crate) fn new(node: NodeIndex, max_answer_bytes: u64) -> Lane {
        let state =
            State { unsent: VecDeque::new(), sending: None, slots: Slots::new(), oldest: None, stalls: 0, dead: false };
        Lane {
            node,
            max_answer_bytes,
            state: Mutex::new(state),
            writer: AtomicWaker::new(),
            outstanding: AtomicU64::new(0),
            outstanding_bytes: AtomicU64::new(0),
            silent_ticks: AtomicU32::new(0),
            closing: AtomicBool::new(false),
        }
    }

    pub(crate) fn outstanding(&self) -> u64 {
        self.outstanding.load(Relaxed)
    }

    pub(crate) fn outstanding_bytes(&self) -> u64 {
        self.outstanding_bytes.load(Relaxed)
    }

    /// Assigns a sample to this lane; true when its writer had nothing else to do and must be woken.
    ///
    /// # Errors
    /// The sample comes back: the lane is dead.
    pub(crate) fn push(&self, sample: Sample) -> Result<bool, Sample> {
        let mut state = self.lock();
        if state.dead {
            return Err(sample);
        }
        let Sample { id, payload } = sample;
        self.outstanding.fetch_add(1, Relaxed);
        self.outstanding_bytes.fetch_add(payload.len() as u64, Relaxed);
        let (bytes, since) = (payload.len() as u64, Instant::now());
        let assembly = Assembly::default();
        let wire_id = state.slots.insert(InFlight { id, payload, bytes, since, sent_at: None, assembly });
        state.oldest.get_or_insert(since);
        state.unsent.push_back(wire_id);
        Ok(state.unsent.len() == 1 && state.sending.is_none())
    }

    /// Wakes the writer to look again.
    pub(crate) fn wake(&self) {
        self.writer.wake();
    }

    /// The writer will be woken through this.
    pub(crate) fn register_writer(&self, waker: &Waker) {
        self.writer.register(waker);
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
        let state = self.lock();
        state.unsent.is_empty() && state.sending.is_none()
    }

    /// The next message to send, if there is one.
    pub(crate) fn next_message(&self, counters: &NodeCounters) -> Option<DispatchRequest> {
        let mut state = self.lock();
        let state = &mut *state;
        loop {
            if let Some(sending) = state.sending.as_mut() {
                let wire_id = sending.wire_id;
                if let Some(part) = sending.parts.next() {
                    if part.last {
                        state.sending = None;
                        state.mark_sent(wire_id);
                        counters.samples_sent.fetch_add(1, SeqCst);
                    }
                    return Some(part_message(wire_id, part, counters));
                }
                state.sending = None;
            }
            let wire_id = state.unsent.pop_front()?;
            // It may have been given up while it waited.
            if let Ok(in_flight) = state.slots.get_mut(wire_id) {
                let payload = std::mem::take(&mut in_flight.payload);
                state.sending = Some(Sending { wire_id, parts: Parts::new(payload) });
            }
        }
    }

    /// Takes one message from the node. `now` is the time at which it was there.
    pub(crate) fn accept(&self, message: DispatchResponse, now: Instant, counters: &NodeCounters) -> Accepted {
        self.silent_ticks.store(0, Relaxed);
        if message.heartbeat.is_some() {
            return Accepted::Nothing;
        }
        counters.message_bytes_in.fetch_add(message.encoded_len() as u64, Relaxed);
        counters.payload_bytes_in.fetch_add(message.data.len() as u64, Relaxed);
        let kind = message.kind();
        let mut state = self.lock();
        let in_flight = match state.slots.get_mut(message.id) {
            Ok(in_flight) => in_flight,
            Err(stranger) => {
                count_stranger(stranger, message.last, counters);
                return Accepted::Nothing;
            }
        };
        if in_flight.sent_at.is_none() {
            return Accepted::Breach("it answered a sample that it had not been sent in full".to_owned());
        }
        if !message.error.is_empty() {
            let failure = Failure::Refused(printable(&message.error));
            return self.end(&mut state, message.id, now, Ended::Answered, Outcome::Failed(failure));
        }
        let DispatchResponse { id, part, last, total_len, data, n_tokens, stages, .. } = message;
        let part = Part { number: part, last, total_len, data };
        let data = match in_flight.assembly.push(part, self.max_answer_bytes) {
            Ok(Some(data)) => data,
            Ok(None) => return Accepted::Nothing,
            Err(error) => return Accepted::Breach(error.to_string()),
        };
        if kind == Kind::First {
            in_flight.assembly = Assembly::default();
            let (id, sent_at, outcome) = (in_flight.id, in_flight.sent_at, Outcome::FirstToken(data));
            return Accepted::Reply(Reply { id, node: Some(self.node), sent_at, at: now, outcome });
        }
        let stages = stages.map(stages_of).unwrap_or_default();
        self.end(&mut state, id, now, Ended::Answered, Outcome::Done(Answer { data, n_tokens, stages }))
    }

    fn end(&self, state: &mut State, wire_id: u64, now: Instant, how: Ended, outcome: Outcome) -> Accepted {
        if how == Ended::Answered {
            state.stalls = 0;
        }
        match state.slots.end(wire_id, how) {
            Ok(InFlight { id, sent_at, bytes, .. }) => {
                self.outstanding.fetch_sub(1, Relaxed);
                self.outstanding_bytes.fetch_sub(bytes, Relaxed);
                Accepted::Reply(Reply { id, node: Some(self.node), sent_at, at: now, outcome })
            }
            Err(_) => Accepted::Nothing,
        }
    }

    /// Gives up on samples that were sent, or could not be sent, more than `timeout` ago. True when the node answers
    /// nothing any more: timeouts have followed each other without an answer between them.
    pub(crate) fn expire(&self, now: Instant, timeout: Duration, replies: &mut Vec<Reply>) -> bool {
        let overdue = |since: Instant| now.saturating_duration_since(since) >= timeout;
        let mut state = self.lock();
        // Looks at every slot only when the oldest one could be due; with a timeout of a minute, once a minute.
        if !state.oldest.is_some_and(overdue) {
            return false;
        }
        let since = |in_flight: &InFlight| in_flight.sent_at.unwrap_or(in_flight.since);
        let ids: Vec<u64> = state.slots.open().filter(|(_, value)| overdue(since(value))).map(|(id, _)| id).collect();
        state.stalls += u32::from(!ids.is_empty());
        for wire_id in ids {
            let outcome = Outcome::Failed(Failure::TimedOut(timeout));
            if let Accepted::Reply(reply) = self.end(&mut state, wire_id, now, Ended::GivenUp, outcome) {
                replies.push(reply);
            }
        }
        state.oldest = state.slots.open().map(|(_, value)| since(value)).min();
        state.stalls >= MAX_STALLS
    }

    /// Gives up on everything: the lane is of no use any more.
    pub(crate) fn fail_all(&self, now: Instant, failure: &Failure, replies: &mut Vec<Reply>) {
        self.close();
        let mut state = self.lock();
        state.dead = true;
        state.unsent.clear();
        state.sending = None;
        let ids: Vec<u64> = state.slots.open().map(|(id, _)| id).collect();
        for wire_id in ids {
            let outcome = Outcome::Failed(failure.clone());
            if let Accepted::Reply(reply) = self.end(&mut state, wire_id, now, Ended::GivenUp, outcome) {
                replies.push(reply);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn mark_sent(&mut self, wire_id: u64) {
        let now = Instant::now();
        if let Ok(in_flight) = self.slots.get_mut(wire_id) {
            in_flight.sent_at = Some(now);
        }
    }
}

fn part_message(wire_id: u64, part: Part, counters: &NodeCounters) -> DispatchRequest {
    let Part { number, last, total_len, data } = part;
    counters.payload_bytes_out.fetch_add(data.len() as u64, Relaxed);
    let message = DispatchRequest { id: wire_id, part: number, last, total_len, data, open: None };
    counters.message_bytes_out.fetch_add(message.encoded_len() as u64, Relaxed);
    message
}

fn count_stranger(stranger: Stranger, last: bool, counters: &NodeCounters) {
    if !last {
        return;
    }
    match stranger {
        Stranger::Duplicate => counters.duplicate.fetch_add(1, Relaxed),
        Stranger::Late => counters.late.fetch_add(1, Relaxed),
        Stranger::Unknown => counters.foreign.fetch_add(1, Relaxed),
    };
}

fn stages_of(stages: lon_proto::v1::Stages) -> Stages {
    Stages {
        decode: Duration::from_nanos(stages.decode_ns),
        queue: Duration::from_nanos(stages.queue_ns),
        batch: Duration::from_nanos(stages.batch_ns),
        inference: Duration::from_nanos(stages.inference_ns),
        encode: Duration::from_nanos(stages.encode_ns),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lane() -> (Lane, NodeCounters) {
        (Lane::new(NodeIndex(0), 1 << 20), NodeCounters::default())
    }

    fn sample(id: u64) -> Sample {
        Sample { id: SampleId(id), payload: Bytes::from_static(b"payload") }
    }

    fn answer(id: u64) -> DispatchResponse {
        DispatchResponse { id, last: true, total_len: 2, data: Bytes::from_static(b"ok"), ..Default::default() }
    }

    #[test]
    fn a_sample_ends_once_and_its_second_answer_is_counted() {
        let (lane, counters) = lane();
        assert!(lane.push(sample(41)).unwrap());
        let sent = lane.next_message(&counters).unwrap();
        assert!(sent.last && lane.next_message(&counters).is_none() && lane.all_sent());
        let Accepted::Reply(reply) = lane.accept(answer(sent.id), Instant::now(), &counters) else { panic!() };
        assert_eq!((reply.id, lane.outstanding()), (SampleId(41), 0));
        assert!(matches!(lane.accept(answer(sent.id), Instant::now(), &counters), Accepted::Nothing));
        assert_eq!(counters.duplicate.load(Relaxed), 1);
    }

    #[test]
    fn an_answer_after_the_timeout_is_late_not_delivered() {
        let (lane, counters) = lane();
        lane.push(sample(1)).unwrap();
        let sent = lane.next_message(&counters).unwrap();
        let mut replies = Vec::new();
        let later = Instant::now() + Duration::from_secs(61);
        assert!(!lane.expire(later, Duration::from_secs(60), &mut replies), "one sample is not the node");
        assert!(matches!(replies[0].outcome, Outcome::Failed(Failure::TimedOut(_))));
        assert!(matches!(lane.accept(answer(sent.id), later, &counters), Accepted::Nothing));
        assert_eq!(counters.late.load(Relaxed), 1);
    }

    #[test]
    fn a_sample_that_cannot_even_be_sent_times_out_and_a_stalled_node_is_told() {
        let (lane, _counters) = lane();
        let mut replies = Vec::new();
        for round in 1..=3 {
            lane.push(sample(round)).unwrap();
            let stalled = lane.expire(Instant::now() + Duration::from_secs(61), Duration::from_secs(60), &mut replies);
            assert_eq!((stalled, replies.len()), (round == 3, round as usize));
        }
        assert_eq!(lane.outstanding(), 0);
    }

    #[test]
    fn an_answer_before_the_question_is_a_breach() {
        let (lane, counters) = lane();
        lane.push(sample(1)).unwrap();
        let unsent = 1 << 32;
        assert!(matches!(lane.accept(answer(unsent), Instant::now(), &counters), Accepted::Breach(_)));
        assert!(matches!(lane.accept(answer(99), Instant::now(), &counters), Accepted::Nothing));
        assert_eq!(counters.foreign.load(Relaxed), 1);
    }

    #[test]
    fn a_lost_lane_fails_what_it_held() {
        let (lane, counters) = lane();
        lane.push(sample(1)).unwrap();
        lane.push(sample(2)).unwrap();
        lane.next_message(&counters).unwrap();
        let mut replies = Vec::new();
        lane.fail_all(Instant::now(), &Failure::NodeLost, &mut replies);
        assert_eq!((replies.len(), lane.outstanding()), (2, 0));
        assert!(lane.next_message(&counters).is_none());
        assert!(lane.push(sample(3)).is_err());
    }

    #[test]
    fn lengths_that_lie_are_a_breach() {
        let (lane, counters) = lane();
        lane.push(sample(1)).unwrap();
        let sent = lane.next_message(&counters).unwrap();
        let lying = DispatchResponse { total_len: 3, ..answer(sent.id) };
        assert!(matches!(lane.accept(lying, Instant::now(), &counters), Accepted::Breach(_)));
    }
}
