//! Carries one lane: a connection on which calls begin, and connections that the server has asked to be left, on which
//! answers are still to come. One task, polled by hand, so that what one read brings is settled and delivered together.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::task::{Context, Poll};
use std::time::Instant;

use bytes::Bytes;
use lon_net::clock;
use lon_proto::kserve::v2::ModelInferResponse;
use lon_proto::limits::MAX_SAMPLE_BYTES;
use lon_proto::stages::Stages;
use lon_proto::text::printable;
use prost::Message as _;
use tonic::codegen::http::Request;

use super::super::declared_outputs::Promise;
use super::answer;
use super::call::{End, Ended};
use super::connection::{CallConnection, Dialler, Readiness};
use super::frame::{self, Frames, ID_BYTES};
use crate::dispatch::{Dispatcher, Taken};
use crate::types::{Answer, Failure, NodeFailure, Outcome, Reply};

/// Calls that begin before the connection gets its turn to write.
const BURST_CALLS: usize = 64;

/// Most connections in a row that a server may ask to be left before any call has ended.
const MAX_MOVES: u32 = 8;

/// A connection that is being made.
type Dialling = Pin<Box<dyn Future<Output = Result<CallConnection, NodeFailure>> + Send>>;

/// The calls of one lane.
pub(super) struct Session {
    dispatcher: Arc<Dispatcher>,
    dialler: Dialler,
    /// Outputs that the server has declared. Answers are checked against them.
    promise: Arc<Promise>,
    /// The head of every request.
    head: Request<()>,
    frames: Frames,
    /// The connection on which calls begin; `None` while a new one is being made.
    connection: Option<CallConnection>,
    /// Connections that the server has asked to be left.
    leaving: Vec<CallConnection>,
    dialling: Option<Dialling>,
    /// Connections left in a row before any call has ended.
    moves: u32,
    /// Calls that a server has not looked at before it asked to be left.
    again: VecDeque<Taken>,
    ended: Vec<Ended>,
    replies: Vec<Reply>,
}

impl Session {
    pub(super) fn new(
        dispatcher: Arc<Dispatcher>,
        dialler: Dialler,
        promise: Arc<Promise>,
        head: Request<()>,
        connection: CallConnection,
    ) -> Session {
        Session {
            dispatcher,
            dialler,
            promise,
            head,
            frames: Frames::default(),
            connection: Some(connection),
            leaving: Vec::new(),
            dialling: None,
            moves: 0,
            again: VecDeque::new(),
            ended: Vec::new(),
            replies: Vec::new(),
        }
    }

    /// Sends and settles until the lane closes.
    ///
    /// # Errors
    /// The server is of no use any more.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), NodeFailure>> {
        // The writer registers before it looks, so that it misses no sample pushed in between.
        self.dialler.lane.register_writer(cx.waker());
        if self.dialler.lane.is_closing() {
            return self.poll_close(cx).map(Ok);
        }
        loop {
            self.poll_connections(cx)?;
            let moved = self.change_connections(cx)?;
            if !self.send(cx) && !moved {
                return Poll::Pending;
            }
        }
    }

    /// Drops the calls under way and waits until the connections have ended in good order.
    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.dialling = None;
        self.leaving.extend(self.connection.take());
        let mut forgotten = Vec::new();
        self.leaving.retain_mut(|connection| {
            connection.leave();
            connection.forget_calls();
            connection.poll(cx, &mut forgotten);
            !connection.is_over()
        });
        if self.leaving.is_empty() { Poll::Ready(()) } else { Poll::Pending }
    }

    /// Gives every connection its turn, and settles and delivers what has ended.
    fn poll_connections(&mut self, cx: &mut Context<'_>) -> Result<(), NodeFailure> {
        let mut cut = None;
        for connection in self.connection.iter_mut().chain(&mut self.leaving) {
            let before = self.ended.len();
            connection.poll(cx, &mut self.ended);
            if self.ended[before..].iter().any(|ended| matches!(ended.end, End::Cut)) {
                cut.get_or_insert_with(|| connection.broken(None));
            }
        }
        if !self.ended.is_empty() {
            let now = clock::now();
            let mut ended = std::mem::take(&mut self.ended);
            ended.drain(..).for_each(|ended| self.settle(ended, now));
            self.ended = ended;
            self.dispatcher.deliver(&self.dialler.lane, &mut self.replies);
        }
        cut.map_or(Ok(()), Err)
    }

    /// Ends the sample of a call that has ended, or keeps it to be sent again.
    fn settle(&mut self, ended: Ended, now: Instant) {
        let Ended { wire_id, body, end, .. } = ended;
        let (outcome, message_bytes) = match end {
            End::Answer(message) => {
                let bytes = message.len() as u64;
                (outcome(message, wire_id, &self.promise), bytes)
            }
            End::Refused(reason) => (Outcome::Failed(Failure::Refused(reason)), 0),
            End::Unusable(reason) => (Outcome::Failed(Failure::Unusable(reason)), 0),
            End::Unseen => return self.again.push_back(Taken { wire_id, payload: body }),
            // Its connection has ended, and the node with it.
            End::Cut => return,
        };
        self.moves = 0;
        self.dialler.lane.answered_call(wire_id, now, outcome, message_bytes, &mut self.replies);
    }

    /// Leaves the connection if the server asks for that, and takes a new one that is ready; true when something
    /// changed.
    fn change_connections(&mut self, cx: &mut Context<'_>) -> Result<bool, NodeFailure> {
        self.leaving.retain(|connection| !connection.is_over());
        if let Some(mut connection) = self.connection.take() {
            match connection.readiness(cx) {
                Readiness::Ready | Readiness::Full => self.connection = Some(connection),
                Readiness::Broken(failure) => return Err(failure),
                Readiness::Leaving => {
                    self.moves += 1;
                    if self.moves > MAX_MOVES {
                        let reason = "it asks for another connection again and again, and answers nothing";
                        return Err(NodeFailure::Ended(reason.to_owned()));
                    }
                    tracing::debug!("a server asks for another connection");
                    connection.leave();
                    self.leaving.push(connection);
                    self.dialling = Some(Box::pin(self.dialler.clone().dial()));
                    return Ok(true);
                }
            }
        }
        if let Some(dialling) = &mut self.dialling
            && let Poll::Ready(connection) = dialling.as_mut().poll(cx)
        {
            self.dialling = None;
            self.connection = Some(connection?);
            return Ok(true);
        }
        Ok(false)
    }

    /// Begins calls, a burst of them at most; true when there were any.
    fn send(&mut self, cx: &mut Context<'_>) -> bool {
        let mut count = 0;
        while count < BURST_CALLS {
            match self.connection.as_mut().map(|connection| connection.readiness(cx)) {
                Some(Readiness::Ready) => {}
                None | Some(Readiness::Full) => break,
                // The next round changes the connection or reports the failure.
                Some(Readiness::Leaving | Readiness::Broken(_)) => return true,
            }
            let Some(taken) = self.next() else {
                if self.dispatcher.flushing.load(SeqCst) {
                    self.dispatcher.sent_signal.notify_one();
                }
                break;
            };
            count += 1;
            if taken.payload.len() as u64 > MAX_SAMPLE_BYTES {
                let end = End::Unusable(format!("its request is larger than {MAX_SAMPLE_BYTES} bytes"));
                self.ended.push(Ended { wire_id: taken.wire_id, stream: 0, body: Bytes::new(), end });
                continue;
            }
            if let Some(connection) = &mut self.connection
                && let Err(back) = connection.begin(&self.head, &mut self.frames, taken)
            {
                self.again.push_front(back);
            }
        }
        count > 0
    }

    /// The next sample to send; samples that were sent in vain come first.
    fn next(&mut self) -> Option<Taken> {
        let lane = &self.dialler.lane;
        while let Some(taken) = self.again.pop_front() {
            if lane.waits_for_call(taken.wire_id) {
                lane.count_other((ID_BYTES + taken.payload.len()) as u64);
                return Some(taken);
            }
        }
        loop {
            let taken = lane.take_call(clock::now(), ID_BYTES as u64);
            if taken.is_some() || !self.dispatcher.refill(lane) {
                return taken;
            }
        }
    }
}

/// The outcome of a sample whose call was answered with this message.
pub(super) fn outcome(message: Bytes, wire_id: u64, promise: &Promise) -> Outcome {
    let unusable = |reason: String| Outcome::Failed(Failure::Unusable(printable(&reason)));
    let response = match ModelInferResponse::decode(message) {
        Ok(response) => response,
        Err(error) => return unusable(format!("its answer cannot be read: {error}")),
    };
    // Some servers leave it out; the stream says which call is answered.
    if !response.id.is_empty() && response.id.as_bytes() != frame::digits(wire_id) {
        return unusable("its answer has the id of another call".to_owned());
    }
    match answer::outputs(response, promise) {
        Ok(data) => Outcome::Done(Answer { data, n_tokens: 0, stages: Stages::default() }),
        Err(reason) => unusable(reason),
    }
}
