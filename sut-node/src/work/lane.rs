//! The answering half of one Dispatch stream: answers come from workers or from the reader, parts leave in order.
//!
//! A lane is emptied by the connection it belongs to and never blocks a worker: what is admitted has its place here
//! reserved (see [`Run::admit`]), so pushing always succeeds.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use futures_util::task::AtomicWaker;
use lon_net::flow::{FILL_BYTES, Fill, Filled};
use lon_net::framing::Outbound;
use lon_proto::assembly::{Part, Parts};
use lon_proto::limits;
use lon_proto::v1::dispatch_response::Kind;
use lon_proto::v1::{self, DispatchResponse};
use tokio::time::{Interval, MissedTickBehavior};
use tonic::Status;

use crate::run::state::Run;

/// The answer to one sample.
pub(crate) struct Answer {
    pub(crate) id: u64,
    pub(crate) result: Result<Bytes, String>,
    pub(crate) stages: Stages,
    /// Bytes of the sample it answers: what leaves the node with it.
    pub(crate) sample_bytes: u64,
}

impl Answer {
    /// To a sample that nobody waits for any more.
    pub(crate) fn over(id: u64, sample_bytes: u64) -> Answer {
        Answer { id, result: Err("the run is over".to_owned()), stages: Stages::default(), sample_bytes }
    }
}

/// What leaves on a stream, in this order.
enum Outgoing {
    /// The first token of an answer that follows. Not an answer: nothing is released or counted for it but its bytes.
    First { id: u64, token: Bytes },
    /// A whole answer, or why there is none.
    Final { answer: Answer, n_tokens: u64 },
}

impl Outgoing {
    /// Bytes of the sample that ends with this, if one does.
    fn sample_bytes(&self) -> Option<u64> {
        match self {
            Outgoing::First { .. } => None,
            Outgoing::Final { answer, .. } => Some(answer.sample_bytes),
        }
    }

    fn is_failure(&self) -> bool {
        matches!(self, Outgoing::Final { answer, .. } if answer.result.is_err())
    }
}

/// Where the time went.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stages {
    pub(crate) decode: Duration,
    pub(crate) preprocess: Duration,
    pub(crate) queue: Duration,
    pub(crate) batch: Duration,
    pub(crate) inference: Duration,
    pub(crate) postprocess: Duration,
    /// None without a codec: backends answer in bytes.
    pub(crate) encode: Duration,
}

/// Shared by the reader of a stream, the workers, and the stream of answers.
pub(crate) struct Lane {
    pub(crate) run: Arc<Run>,
    state: Mutex<State>,
    waker: AtomicWaker,
    /// The peer is gone: answers to it are of no use to anybody.
    pub(crate) closed: AtomicBool,
}

#[derive(Default)]
struct State {
    ready: VecDeque<Outgoing>,
    /// Samples read from this stream that have no answer yet.
    pending: u64,
    /// No more samples will be read; how the stream ends once all is answered.
    input: Option<Result<(), Status>>,
}

impl Lane {
    pub(crate) fn new(run: Arc<Run>) -> Arc<Lane> {
        run.stream_opened();
        let closed = AtomicBool::new(false);
        Arc::new(Lane { run, state: Mutex::default(), waker: AtomicWaker::new(), closed })
    }

    /// Samples were read and admitted: answers will follow.
    pub(crate) fn expect_answers(&self, count: u64) {
        self.lock().pending += count;
    }

    /// Adds answers and wakes the connection if it may be asleep.
    pub(crate) fn answer(&self, answers: impl Iterator<Item = Answer>) {
        self.end(answers.map(|answer| Outgoing::Final { answer, n_tokens: 0 }));
    }

    /// The same for one answer of so many tokens; 0 when that is not known.
    pub(crate) fn answer_tokens(&self, answer: Answer, n_tokens: u64) {
        self.end(std::iter::once(Outgoing::Final { answer, n_tokens }));
    }

    /// The first token of a sample whose answer will follow. Never in a codec.
    pub(crate) fn first_token(&self, id: u64, token: Bytes) {
        let mut state = self.lock();
        if self.closed.load(SeqCst) {
            return;
        }
        if !self.run.codecs.answers.is_none() {
            self.run.counters.raw_bytes_out.fetch_add(token.len() as u64, Relaxed);
        }
        state.ready.push_back(Outgoing::First { id, token });
        let is_first = state.ready.len() == 1;
        drop(state);
        if is_first {
            self.waker.wake();
        }
    }

    /// `answers` are all final.
    fn end(&self, answers: impl Iterator<Item = Outgoing>) {
        let mut state = self.lock();
        let before = state.ready.len();
        state.ready.extend(answers);
        let new = state.ready.range(before..);
        let (count, failed) = (new.len() as u64, new.filter(|answer| answer.is_failure()).count() as u64);
        state.pending -= count;
        let unwanted = if self.closed.load(SeqCst) { std::mem::take(&mut state.ready) } else { VecDeque::new() };
        drop(state);
        self.run.count_answers(count, failed);
        self.run.release_all(unwanted.iter().filter_map(Outgoing::sample_bytes));
        // A connection that was woken for the first of them takes them all.
        if before == 0 {
            self.waker.wake();
        }
    }

    /// For whoever asks from inside this process: moves the answers that are ready into `answers`, and has later ones wake
    /// `waker`. First tokens are passed over. Returns how many tokens these answers have.
    pub(crate) fn take_answers(&self, waker: &Waker, answers: &mut Vec<Answer>) -> u64 {
        self.waker.register(waker);
        let mut tokens = 0;
        answers.extend(self.lock().ready.drain(..).filter_map(|outgoing| match outgoing {
            Outgoing::First { .. } => None,
            Outgoing::Final { answer, n_tokens } => {
                tokens += n_tokens;
                Some(answer)
            }
        }));
        tokens
    }

    /// Nothing more is read. The stream ends with `how` after the last answer (an error does not wait for answers).
    pub(crate) fn end_input(&self, how: Result<(), Status>) {
        self.lock().input.get_or_insert(how);
        self.waker.wake();
    }

    /// Whatever is done for its samples from here on is done for nobody.
    pub(crate) fn is_over(&self) -> bool {
        self.closed.load(SeqCst) || self.run.has_ended()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The messages that leave on a stream.
pub(crate) struct LaneOutput {
    lane: Arc<Lane>,
    /// Taken from the lane in one go, so that its lock is taken once per burst.
    burst: VecDeque<Outgoing>,
    current: Option<Sending>,
    heartbeat: Interval,
    quiet: bool,
}

/// An answer, or a first token, whose parts are leaving.
struct Sending {
    id: u64,
    parts: Parts,
    /// None for a first token, which ends nothing.
    end: Option<End>,
}

/// What leaves with the last part of an answer.
struct End {
    n_tokens: u64,
    stages: Stages,
    sample_bytes: u64,
}

/// What leaving messages add to the books, summed up over a burst.
#[derive(Default)]
struct Left {
    message_bytes: u64,
    payload_bytes: u64,
    samples: u64,
    sample_bytes: u64,
}

impl LaneOutput {
    pub(crate) fn new(lane: Arc<Lane>) -> LaneOutput {
        let mut heartbeat = tokio::time::interval(limits::HEARTBEAT_INTERVAL);
        heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        LaneOutput { lane, burst: VecDeque::new(), current: None, heartbeat, quiet: false }
    }

    /// Begins with a heartbeat, so that the other end knows at once that the stream was accepted.
    pub(crate) fn with_greeting(mut self) -> LaneOutput {
        self.quiet = true;
        self
    }

    /// Adds what is ready without waiting; false when nothing is.
    fn add_ready(&mut self, out: &mut Outbound) -> bool {
        let before = out.total();
        let mut left = Left::default();
        while out.len() < FILL_BYTES && self.add_next(out, &mut left) {}
        let run = &self.lane.run;
        run.counters.message_bytes_out.fetch_add(left.message_bytes, Relaxed);
        run.counters.payload_bytes_out.fetch_add(left.payload_bytes, Relaxed);
        run.release(left.samples, left.sample_bytes);
        out.total() > before
    }

    fn add_next(&mut self, out: &mut Outbound, left: &mut Left) -> bool {
        if self.current.is_none() {
            if self.burst.is_empty() {
                std::mem::swap(&mut self.burst, &mut self.lane.lock().ready);
            }
            let Some(next) = self.burst.pop_front() else { return false };
            match Sending::begin(next) {
                Ok(sending) => self.current = Some(sending),
                Err((id, error, sample_bytes)) => {
                    left.sample(sample_bytes);
                    let message = DispatchResponse { id, last: true, error, ..DispatchResponse::default() };
                    left.message_bytes += out.push_response(message);
                    return true;
                }
            }
        }
        let Some(sending) = self.current.as_mut() else { return false };
        let Some(Part { number, last, total_len, data }) = sending.parts.next() else { return false };
        left.payload_bytes += data.len() as u64;
        let id = sending.id;
        let mut message = DispatchResponse { id, part: number, last, total_len, data, ..DispatchResponse::default() };
        if sending.end.is_none() {
            message.set_kind(Kind::First);
        }
        if last && let Some(Sending { end: Some(End { n_tokens, stages, sample_bytes }), .. }) = self.current.take() {
            (message.n_tokens, message.stages) = (n_tokens, Some(stages.into()));
            left.sample(sample_bytes);
        }
        left.message_bytes += out.push_response(message);
        true
    }

    fn poll_end(&mut self) -> Poll<Result<(), Status>> {
        let mut state = self.lane.lock();
        if !state.ready.is_empty() {
            return Poll::Pending;
        }
        match state.input.take() {
            Some(Ok(())) if state.pending > 0 => {
                state.input = Some(Ok(()));
                Poll::Pending
            }
            // A node that shuts down still answers what it has.
            Some(Err(status)) if state.pending > 0 && status.code() == tonic::Code::Unavailable => {
                state.input = Some(Err(status));
                Poll::Pending
            }
            Some(how) => Poll::Ready(how),
            None => Poll::Pending,
        }
    }
}

impl Sending {
    /// What begins to leave; or else the sample, why there is no answer to it, and its bytes.
    fn begin(next: Outgoing) -> Result<Sending, (u64, String, u64)> {
        let (Answer { id, result, stages, sample_bytes }, n_tokens) = match next {
            Outgoing::First { id, token } => return Ok(Sending { id, parts: Parts::new(token), end: None }),
            Outgoing::Final { answer, n_tokens } => (answer, n_tokens),
        };
        match result {
            Ok(payload) => {
                Ok(Sending { id, parts: Parts::new(payload), end: Some(End { n_tokens, stages, sample_bytes }) })
            }
            Err(mut error) => {
                // An empty text would be no error on the wire.
                if error.is_empty() {
                    error.push_str("the backend gave no reason");
                }
                error.truncate(error.floor_char_boundary(limits::MAX_ERROR_BYTES));
                Err((id, error, sample_bytes))
            }
        }
    }
}

impl Left {
    fn sample(&mut self, bytes: u64) {
        self.samples += 1;
        self.sample_bytes += bytes;
    }
}

impl Fill for LaneOutput {
    fn poll_fill(&mut self, cx: &mut Context<'_>, out: &mut Outbound) -> Poll<Filled> {
        // Registered before looking, so that an answer pushed in between is not missed.
        self.lane.waker.register(cx.waker());
        if self.add_ready(out) {
            self.quiet = false;
            return Poll::Ready(Filled::Some);
        }
        if let Poll::Ready(how) = self.poll_end() {
            return Poll::Ready(Filled::End(how));
        }
        while self.heartbeat.poll_tick(cx).is_ready() {
            if std::mem::replace(&mut self.quiet, true) {
                self.lane.run.counters.heartbeats.fetch_add(1, Relaxed);
                let heartbeat = Some(v1::Heartbeat {});
                out.push_response(DispatchResponse { heartbeat, ..DispatchResponse::default() });
                return Poll::Ready(Filled::Some);
            }
        }
        Poll::Pending
    }
}

impl Drop for LaneOutput {
    fn drop(&mut self) {
        let mut left = std::mem::take(&mut self.burst);
        {
            // Under the lock: a worker either sees the lane closed or its answer is found here.
            let mut state = self.lane.lock();
            self.lane.closed.store(true, SeqCst);
            left.append(&mut state.ready);
        }
        let unsent = self.current.take().and_then(|sending| sending.end).map(|end| end.sample_bytes);
        self.lane.run.release_all(left.iter().filter_map(Outgoing::sample_bytes).chain(unsent));
        self.lane.run.stream_closed();
    }
}

impl From<Stages> for v1::Stages {
    fn from(stages: Stages) -> v1::Stages {
        let ns = |duration: Duration| u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        v1::Stages {
            decode_ns: ns(stages.decode),
            preprocess_ns: ns(stages.preprocess),
            queue_ns: ns(stages.queue),
            batch_ns: ns(stages.batch),
            inference_ns: ns(stages.inference),
            postprocess_ns: ns(stages.postprocess),
            encode_ns: ns(stages.encode),
        }
    }
}
