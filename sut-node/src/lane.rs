//! The answering half of one Dispatch stream: answers come from workers or from the reader, parts leave in order.
//!
//! A lane is polled by the connection it belongs to and never blocks a worker: what is admitted has its place here
//! reserved (see [`Run::admit`]), so pushing always succeeds.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_util::Stream;
use futures_util::task::AtomicWaker;
use lon_proto::assembly::{Part, Parts};
use lon_proto::v1::{self, DispatchResponse};
use lon_proto::{WIRE_VERSION, limits};
use prost::Message as _;
use tokio::time::{Interval, MissedTickBehavior};
use tonic::Status;

use crate::run::Run;

/// The answer to one sample.
pub(crate) struct Answer {
    pub(crate) id: u64,
    pub(crate) result: Result<Bytes, String>,
    pub(crate) stages: Stages,
    /// Bytes of the sample it answers: what leaves the node with it.
    pub(crate) sample_bytes: u64,
}

/// Where the time went.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stages {
    pub(crate) decode: Duration,
    pub(crate) queue: Duration,
    pub(crate) batch: Duration,
    pub(crate) inference: Duration,
    /// Nothing so far: backends answer in bytes, and answers have no codec yet.
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
    ready: VecDeque<Answer>,
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

    /// A sample was read and admitted: an answer will follow.
    pub(crate) fn expect_answer(&self) {
        self.lock().pending += 1;
    }

    /// Adds one answer and wakes the connection if it sleeps.
    pub(crate) fn answer(&self, answer: Answer) {
        self.run.count_answer(answer.result.is_err());
        let mut state = self.lock();
        state.pending -= 1;
        if self.closed.load(SeqCst) {
            drop(state);
            self.run.release(answer.sample_bytes);
            return;
        }
        state.ready.push_back(answer);
        let first = state.ready.len() == 1;
        drop(state);
        if first {
            self.waker.wake();
        }
    }

    /// Nothing more is read. The stream ends with `how` after the last answer (an error does not wait for answers).
    pub(crate) fn end_input(&self, how: Result<(), Status>) {
        self.lock().input.get_or_insert(how);
        self.waker.wake();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The stream of messages that tonic sends.
pub(crate) struct LaneOutput {
    lane: Arc<Lane>,
    /// Taken from the lane in one go, so that its lock is taken once per burst.
    burst: VecDeque<Answer>,
    current: Option<Sending>,
    heartbeat: Interval,
    quiet: bool,
}

/// An answer whose parts are leaving.
struct Sending {
    id: u64,
    parts: Parts,
    stages: Stages,
    sample_bytes: u64,
}

impl LaneOutput {
    pub(crate) fn new(lane: Arc<Lane>) -> LaneOutput {
        let mut heartbeat = tokio::time::interval(limits::HEARTBEAT_INTERVAL);
        heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        LaneOutput { lane, burst: VecDeque::new(), current: None, heartbeat, quiet: false }
    }

    /// The next message that is ready without waiting.
    fn next_ready(&mut self) -> Option<DispatchResponse> {
        if let Some(sending) = self.current.as_mut()
            && let Some(part) = sending.parts.next()
        {
            return Some(self.part_message(part));
        }
        if self.burst.is_empty() {
            std::mem::swap(&mut self.burst, &mut self.lane.lock().ready);
        }
        let answer = self.burst.pop_front()?;
        match answer.result {
            Ok(payload) => {
                let mut parts = Parts::new(payload);
                let first = parts.next();
                let Answer { id, stages, sample_bytes, .. } = answer;
                self.current = Some(Sending { id, parts, stages, sample_bytes });
                first.map(|part| self.part_message(part))
            }
            Err(mut error) => {
                self.lane.run.release(answer.sample_bytes);
                error.truncate(error.floor_char_boundary(limits::MAX_ERROR_BYTES));
                Some(DispatchResponse { id: answer.id, last: true, error, ..DispatchResponse::default() })
            }
        }
    }

    fn part_message(&mut self, part: Part) -> DispatchResponse {
        let Part { number, last, total_len, data } = part;
        self.lane.run.counters.payload_bytes_out.fetch_add(data.len() as u64, Relaxed);
        let mut message = DispatchResponse { part: number, last, total_len, data, ..DispatchResponse::default() };
        if let Some(sending) = &self.current {
            message.id = sending.id;
            if last {
                message.stages = Some(sending.stages.into());
                self.lane.run.release(sending.sample_bytes);
            }
        }
        if last {
            self.current = None;
        }
        message
    }

    fn poll_end(&mut self) -> Poll<Option<Result<DispatchResponse, Status>>> {
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
            Some(Ok(())) => Poll::Ready(None),
            Some(Err(status)) => Poll::Ready(Some(Err(status))),
            None => Poll::Pending,
        }
    }
}

impl Stream for LaneOutput {
    type Item = Result<DispatchResponse, Status>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        // Registered before looking, so that an answer pushed in between is not missed.
        self.lane.waker.register(cx.waker());
        if let Some(message) = self.next_ready() {
            self.quiet = false;
            let bytes = message.encoded_len() as u64;
            self.lane.run.counters.message_bytes_out.fetch_add(bytes, Relaxed);
            return Poll::Ready(Some(Ok(message)));
        }
        if let Poll::Ready(end) = self.poll_end() {
            return Poll::Ready(end);
        }
        while self.heartbeat.poll_tick(cx).is_ready() {
            if std::mem::replace(&mut self.quiet, true) {
                self.lane.run.counters.heartbeats.fetch_add(1, Relaxed);
                let heartbeat = Some(v1::Heartbeat {});
                return Poll::Ready(Some(Ok(DispatchResponse { heartbeat, ..DispatchResponse::default() })));
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
        let unsent = self.current.take().map(|sending| sending.sample_bytes);
        for bytes in left.iter().map(|answer| answer.sample_bytes).chain(unsent) {
            self.lane.run.release(bytes);
        }
        self.lane.run.stream_closed();
    }
}

impl From<Stages> for v1::Stages {
    fn from(stages: Stages) -> v1::Stages {
        let ns = |duration: Duration| u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        v1::Stages {
            decode_ns: ns(stages.decode),
            queue_ns: ns(stages.queue),
            batch_ns: ns(stages.batch),
            inference_ns: ns(stages.inference),
            encode_ns: ns(stages.encode),
        }
    }
}

/// Refuses a caller that speaks another version of the wire.
pub(crate) fn check_version(theirs: u32) -> Result<(), Status> {
    if theirs == WIRE_VERSION {
        return Ok(());
    }
    Err(Status::failed_precondition(format!("this node speaks wire version {WIRE_VERSION}, the caller {theirs}")))
}
