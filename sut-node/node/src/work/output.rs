//! The messages that leave on one Dispatch stream: the answers of its answer queue in parts, in order, and heartbeats
//! while it is quiet.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Context, Poll};

use lon_net::flow::{FILL_BYTES, Fill, Filled};
use lon_net::framing::Outbound;
use lon_proto::assembly::{Part, Parts};
use lon_proto::limits;
use lon_proto::v1::dispatch_response::Kind;
use lon_proto::v1::{self, DispatchResponse};
use tokio::time::{Interval, MissedTickBehavior};

use super::answer_queue::{AnswerQueue, QueueItem, SampleAnswer};
use super::ticket::Ticket;
use crate::run::durations::StageDurations;
use crate::run::failure::SampleFailure;

/// Ticks in the time after which a silent stream gets a heartbeat. With one alone, what was sent just after a tick
/// would be followed by nothing for twice that time, and the client would take the stream for stalled.
const TICKS: u32 = 2;

/// The messages of one stream. When it is dropped the client is gone, and the answer queue is closed.
pub(crate) struct AnswerOutput {
    answer_queue: Arc<AnswerQueue>,
    /// Items from the answer queue, all taken in one go, so that its lock is taken once for many answers.
    burst: VecDeque<QueueItem>,
    current: Option<Sending>,
    heartbeat: Interval,
    /// Where it is counted how long samples took, if anybody wants to know.
    durations: Option<Arc<StageDurations>>,
    /// Ticks since something was sent.
    quiet_ticks: u32,
}

/// An answer, or a first token, whose parts are leaving.
struct Sending {
    id: u64,
    parts: Parts,
    /// Data that leave with the last part; `None` for a first token, which ends nothing.
    end: Option<End>,
}

/// Data of a sample that leave with the last part of its answer.
struct End {
    ticket: Ticket,
    n_tokens: u64,
}

/// Counts that leaving messages add, summed up over a burst.
#[derive(Default)]
struct BurstCounts {
    message_bytes: u64,
    payload_bytes: u64,
    samples: u64,
    sample_bytes: u64,
}

impl BurstCounts {
    /// Counts a sample whose answer has left.
    fn sample(&mut self, ticket: &Ticket) {
        self.samples += 1;
        self.sample_bytes += ticket.sample_bytes;
    }
}

impl AnswerOutput {
    /// The output of this answer queue. Made on a runtime, which drives its heartbeat.
    pub(crate) fn new(answer_queue: Arc<AnswerQueue>) -> AnswerOutput {
        let mut heartbeat = tokio::time::interval(limits::HEARTBEAT_INTERVAL / TICKS);
        heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        AnswerOutput { answer_queue, burst: VecDeque::new(), current: None, heartbeat, durations: None, quiet_ticks: 0 }
    }

    /// Counts how long samples took.
    pub(crate) fn with_durations(mut self, durations: Option<Arc<StageDurations>>) -> AnswerOutput {
        self.durations = durations;
        self
    }

    /// Begins with a heartbeat, which tells the client at once that its stream was accepted.
    pub(crate) fn with_heartbeat_first(mut self) -> AnswerOutput {
        self.quiet_ticks = TICKS;
        self
    }

    /// Adds what is ready without waiting. False when nothing is.
    fn add_ready(&mut self, out: &mut Outbound) -> bool {
        let before = out.total();
        let mut counts = BurstCounts::default();
        while out.len() < FILL_BYTES && self.add_next(out, &mut counts) {}
        let run = &self.answer_queue.run;
        run.counters.add_messages_out(counts.message_bytes, counts.payload_bytes);
        run.admission.release(counts.samples, counts.sample_bytes);
        out.total() > before
    }

    /// Adds one message. False when nothing is ready.
    fn add_next(&mut self, out: &mut Outbound, counts: &mut BurstCounts) -> bool {
        if self.current.is_none() {
            if self.burst.is_empty() {
                self.answer_queue.swap_ready(&mut self.burst);
            }
            let Some(next) = self.burst.pop_front() else { return false };
            match Sending::begin(next) {
                Ok(sending) => self.current = Some(sending),
                Err((ticket, error)) => {
                    // A failure has no parts: one message says it all.
                    counts.sample(&ticket);
                    let message = DispatchResponse { id: ticket.id, last: true, error, ..DispatchResponse::default() };
                    counts.message_bytes += out.push_response(message);
                    return true;
                }
            }
        }
        let Some(sending) = self.current.as_mut() else { return false };
        let Some(Part { number, last, total_len, data }) = sending.parts.next() else { return false };
        counts.payload_bytes += data.len() as u64;
        let id = sending.id;
        let mut message = DispatchResponse { id, part: number, last, total_len, data, ..DispatchResponse::default() };
        if sending.end.is_none() {
            message.set_kind(Kind::First);
        }
        // The last part carries the stages; with it the sample has left the node.
        if last && let Some(Sending { end: Some(End { ticket, n_tokens }), .. }) = self.current.take() {
            (message.n_tokens, message.stages) = (n_tokens, Some(ticket.stages.into()));
            counts.sample(&ticket);
            if let Some(durations) = &self.durations {
                durations.add(&ticket.stages);
            }
        }
        counts.message_bytes += out.push_response(message);
        true
    }
}

impl Sending {
    /// Begins to send an item. The error has the ticket of the sample, and the reason why there is no answer to it.
    fn begin(next: QueueItem) -> Result<Sending, (Ticket, String)> {
        let SampleAnswer { ticket, result, n_tokens } = match next {
            QueueItem::First { id, token } => return Ok(Sending { id, parts: Parts::new(token), end: None }),
            QueueItem::Final(answer) => answer,
        };
        match result {
            Ok(payload) => {
                Ok(Sending { id: ticket.id, parts: Parts::new(payload), end: Some(End { ticket, n_tokens }) })
            }
            Err(SampleFailure { reason: mut error, .. }) => {
                // An empty text would be no error to the client.
                if error.is_empty() {
                    error.push_str("the backend gave no reason");
                }
                error.truncate(error.floor_char_boundary(limits::MAX_ERROR_BYTES));
                Err((ticket, error))
            }
        }
    }
}

impl Fill for AnswerOutput {
    fn poll_fill(&mut self, cx: &mut Context<'_>, out: &mut Outbound) -> Poll<Filled> {
        // The registration precedes the check, so that an answer that is added in between is not missed.
        self.answer_queue.register(cx.waker());
        if self.add_ready(out) {
            self.quiet_ticks = 0;
            return Poll::Ready(Filled::Some);
        }
        if let Poll::Ready(how) = self.answer_queue.poll_end() {
            return Poll::Ready(Filled::End(how));
        }
        while self.heartbeat.poll_tick(cx).is_ready() {
            self.quiet_ticks += 1;
            if self.quiet_ticks > TICKS {
                // This tick is the first after the heartbeat.
                self.quiet_ticks = 1;
                self.answer_queue.run.counters.heartbeats.fetch_add(1, Relaxed);
                let heartbeat = Some(v1::Heartbeat {});
                out.push_response(DispatchResponse { heartbeat, ..DispatchResponse::default() });
                return Poll::Ready(Filled::Some);
            }
        }
        Poll::Pending
    }
}

impl Drop for AnswerOutput {
    fn drop(&mut self) {
        let mut burst = std::mem::take(&mut self.burst);
        self.answer_queue.close(&mut burst);
        // Nothing of this will leave any more, but its room must be given back.
        let unsent = self.current.take().and_then(|sending| sending.end).map(|end| end.ticket.sample_bytes);
        self.answer_queue.run.admission.release_all(burst.iter().filter_map(QueueItem::sample_bytes).chain(unsent));
        self.answer_queue.run.stream_closed();
    }
}
