//! A Dispatch stream on any transport: opened, written and read until either end is done.
//!
//! The transports to SUT nodes use these parts. Lanes of calls have no stream: see [`super::kserve`].

use std::future::{Future, poll_fn};
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::task::{Context, Poll};
use std::time::Duration;

use lon_net::clock;
use lon_net::flow::{Fill, Filled, Source};
use lon_net::framing::{Inbound, Incoming, Outbound};
use lon_net::tcp::{self, StreamSource};
use lon_proto::run_identity::RunPass;
use lon_proto::text::printable;
use lon_proto::v1::{DispatchRequest, DispatchResponse, Open};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, ReadHalf, WriteHalf};
use tonic::Status;

use super::lane_task::LaneTask;
use crate::dispatch::{Accepted, Dispatcher, Lane};
use crate::error::failure_of;
use crate::types::{NodeFailure, Reply};

/// Longest time for the node's reason to arrive after a write to it has failed.
const LAST_WORDS: Duration = Duration::from_secs(1);

impl LaneTask {
    /// Carries the lane over a byte stream of its own: framed messages each way, as on plain TCP. Returns when the
    /// stream is over; a failure loses the lane's node. For transports, see [`crate::Carry`].
    ///
    /// `connect` connects to the node, and sends all that the transport needs before the first message. It may take as
    /// long as a control call ([`crate::Config::call_timeout`]), the node's acceptance of the stream included.
    pub async fn carry_over<S>(self, connect: impl Future<Output = io::Result<S>>)
    where
        S: AsyncRead + AsyncWrite + Send + 'static,
    {
        let LaneTask { dispatcher, lane, pass, timeout, opened, .. } = self;
        let open_message = framed_open(&pass, &lane);
        let stream = opened.wait(timeout, open(connect, &open_message, &lane)).await;
        if let Some((source, inbound, mut io)) = stream {
            let writing = tcp::write(&mut io, Outgoing::new(&dispatcher, &lane, None), Some(&*lane));
            exchange(&dispatcher, &lane, source, inbound, writing).await;
        }
    }
}

/// An open stream, and the bytes that came behind its acceptance.
type Stream<S> = (StreamSource<ReadHalf<S>>, Inbound, WriteHalf<S>);

async fn open<S>(
    connect: impl Future<Output = io::Result<S>>,
    open_message: &[u8],
    lane: &Lane,
) -> Result<Stream<S>, NodeFailure>
where
    S: AsyncRead + AsyncWrite + Send + 'static,
{
    let (reading, mut writing) = tokio::io::split(connect.await.map_err(broken)?);
    writing.write_all(open_message).await.map_err(broken)?;
    writing.flush().await.map_err(broken)?;
    let mut source = StreamSource::new(reading);
    let inbound = accepted(&mut source, lane).await?;
    Ok((source, inbound, writing))
}

/// The first bytes of a stream without HTTP: its Open message.
pub(super) fn framed_open(pass: &RunPass, lane: &Lane) -> Vec<u8> {
    let mut out = Outbound::default();
    lane.count_other(out.push_message(&open_message(pass.open())));
    std::iter::from_fn(|| out.pop()).flatten().collect()
}

fn open_message(open: Open) -> DispatchRequest {
    DispatchRequest { open: Some(open), ..DispatchRequest::default() }
}

/// Waits until the node has accepted a stream without HTTP, which it says by a heartbeat. Returns the bytes that came
/// behind it.
pub(super) async fn accepted(source: &mut impl Source, lane: &Lane) -> Result<Inbound, NodeFailure> {
    match greeting(source).await {
        Ok((inbound, bytes)) => {
            lane.count_heartbeat(bytes);
            Ok(inbound)
        }
        Err(Some(status)) => Err(failure_of(&status)),
        Err(None) => Err(without_reason()),
    }
}

/// The same on a stream that follows no lane.
pub(super) async fn bare_accepted(source: &mut impl Source) -> Result<Inbound, Status> {
    let unsaid = |status: Option<Status>| status.unwrap_or_else(|| Status::unknown("it ended without a reason"));
    greeting(source).await.map(|(inbound, _)| inbound).map_err(unsaid)
}

/// The first message of a node, which must be a heartbeat: what came behind it, and its bytes. An error is the status
/// that the stream ended with, if it had one.
async fn greeting(source: &mut impl Source) -> Result<(Inbound, u64), Option<Status>> {
    let mut inbound = Inbound::default();
    loop {
        match inbound.next_message::<DispatchResponse>()? {
            Some(Incoming::Message(message, bytes)) if message.heartbeat.is_some() => return Ok((inbound, bytes)),
            Some(Incoming::Message(..)) => return Err(Some(Status::internal("it answered before it was asked"))),
            Some(Incoming::End(how)) => return Err(how.err().map(|(code, text)| Status::new(code, text))),
            None => {}
        }
        if !poll_fn(|cx| source.poll_read(cx, &mut inbound)).await? {
            return Err(None);
        }
    }
}

fn without_reason() -> NodeFailure {
    NodeFailure::Ended("without a reason".to_owned())
}

pub(super) fn broken(error: impl Into<io::Error>) -> NodeFailure {
    NodeFailure::Connection(printable(&error.into().to_string()))
}

/// Reads and writes, in one task, until the stream is over. A failure loses the lane's node.
pub(super) async fn exchange(
    dispatcher: &Dispatcher,
    lane: &Lane,
    source: impl Source,
    inbound: Inbound,
    writing: impl Future<Output = io::Result<()>>,
) {
    lane.opened();
    let mut reading = pin!(read(dispatcher, lane, source, inbound));
    // Reading first cannot keep writing from its turn: there are as many answers as samples, and windows bound those.
    let outcome = tokio::select! {
        biased;
        outcome = &mut reading => outcome,
        outcome = writing => match outcome {
            Ok(()) => reading.await,
            // The node may have said why it no longer reads.
            Err(error) => tokio::time::timeout(LAST_WORDS, reading).await.unwrap_or_else(|_| Err(broken(error))),
        },
    };
    if let Err(failure) = outcome {
        dispatcher.lose(lane.node, &failure);
    }
}

/// Reads until the stream ends. Its end is a failure unless the lane was closing.
async fn read(
    dispatcher: &Dispatcher,
    lane: &Lane,
    mut source: impl Source,
    mut inbound: Inbound,
) -> Result<(), NodeFailure> {
    let mut replies: Vec<Reply> = Vec::new();
    let mut now = clock::now();
    loop {
        let mut accepted = Accepted::More;
        while accepted == Accepted::More {
            let outcome = lane.accept(&mut inbound, now, &mut replies);
            // Also after a failure: what was settled before it is delivered.
            dispatcher.deliver(lane, &mut replies);
            accepted = outcome?;
        }
        if let Accepted::End(how) = accepted {
            return if lane.is_closing() { Ok(()) } else { how.and(Err(without_reason())) };
        }
        let more = poll_fn(|cx| source.poll_read(cx, &mut inbound)).await;
        now = clock::now();
        match more {
            Ok(true) => {}
            Ok(false) | Err(_) if lane.is_closing() => return Ok(()),
            Ok(false) => return Err(without_reason()),
            Err(status) => return Err(failure_of(&status)),
        }
    }
}

/// The messages of a stream: Open, unless it was sent already, then the lane's messages, with heartbeats where it has
/// none for a while, then the end when the lane closes.
pub(super) struct Outgoing {
    dispatcher: Arc<Dispatcher>,
    pub(super) lane: Arc<Lane>,
    open: Option<Open>,
}

impl Outgoing {
    /// `open` is `None` when that message was sent already.
    pub(super) fn new(dispatcher: &Arc<Dispatcher>, lane: &Arc<Lane>, open: Option<Open>) -> Outgoing {
        Outgoing { dispatcher: Arc::clone(dispatcher), lane: Arc::clone(lane), open }
    }
}

impl Fill for Outgoing {
    fn poll_fill(&mut self, cx: &mut Context<'_>, out: &mut Outbound) -> Poll<Filled> {
        if let Some(open) = self.open.take() {
            self.lane.count_other(out.push_message(&open_message(open)));
            return Poll::Ready(Filled::Some);
        }
        // The writer registers before it looks, so that it misses no sample pushed in between.
        self.lane.register_writer(cx.waker());
        if self.lane.is_closing() {
            return Poll::Ready(Filled::End(Ok(())));
        }
        loop {
            if self.lane.fill(out) {
                return Poll::Ready(Filled::Some);
            }
            if !self.dispatcher.refill(&self.lane) {
                break;
            }
        }
        if self.dispatcher.flushing.load(SeqCst) {
            self.dispatcher.sent_signal.notify_one();
        }
        if self.lane.fill_heartbeat(out) {
            return Poll::Ready(Filled::Some);
        }
        Poll::Pending
    }

    fn record_wait(&mut self, waited: Duration) {
        self.lane.record_wait(waited);
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use lon_proto::limits::{RUN_ID_BYTES, SECRET_BYTES};
    use lon_proto::v1::Heartbeat;

    use super::*;
    use crate::dispatch::{AnswerRule, Expected};
    use crate::types::NodeIndex;

    /// Gives what was put into it, then closes.
    struct MessageSource(Outbound);

    impl Source for MessageSource {
        fn poll_read(&mut self, _: &mut Context<'_>, into: &mut Inbound) -> Poll<Result<bool, Status>> {
            Poll::Ready(Ok(self.0.pop().map(|chunk| into.push(chunk)).is_some()))
        }
    }

    fn lane() -> Lane {
        let rule = Arc::new(AnswerRule::anything("n", 1));
        Lane::new(NodeIndex(0), Expected::new(&rule, false, Duration::from_secs(60), 1), 1)
    }

    async fn outcome(say: impl FnOnce(&mut Outbound)) -> Result<Inbound, NodeFailure> {
        let mut out = Outbound::default();
        say(&mut out);
        accepted(&mut MessageSource(out), &lane()).await
    }

    #[tokio::test]
    async fn a_stream_is_accepted_by_a_heartbeat_and_by_nothing_else() {
        let heartbeat = || DispatchResponse { heartbeat: Some(Heartbeat {}), ..DispatchResponse::default() };
        let answer = || DispatchResponse { id: 7, last: true, ..DispatchResponse::default() };
        let mut behind = outcome(|out| {
            out.push_response(heartbeat());
            out.push_response(answer());
        })
        .await
        .unwrap();
        let next = behind.next_message::<DispatchResponse>().unwrap();
        assert!(matches!(next, Some(Incoming::Message(message, _)) if message == answer()), "nothing is lost");

        let refused = outcome(|out| out.push_end(&Err(Status::not_found("no such run")))).await.unwrap_err();
        assert!(matches!(&refused, NodeFailure::Ended(why) if why.contains("no such run")), "{refused}");
        let early = outcome(|out| {
            let _ = out.push_response(answer());
        })
        .await
        .unwrap_err();
        assert!(matches!(early, NodeFailure::Protocol(_)));
        assert!(matches!(outcome(|_| {}).await.unwrap_err(), NodeFailure::Ended(_)));
    }

    #[test]
    fn a_stream_begins_with_its_run() {
        let pass = RunPass::new(Bytes::from(vec![3; RUN_ID_BYTES]), Bytes::from(vec![4; SECRET_BYTES]));
        let mut inbound = Inbound::default();
        let lane = lane();
        inbound.push(framed_open(&pass, &lane).into());
        let Ok(Some(Incoming::Message(message, bytes))) = inbound.next_message::<DispatchRequest>() else { panic!() };
        assert_eq!(message.open, Some(pass.open()));
        let counts = lane.counters.read();
        assert_eq!((counts.other_bytes_out, counts.message_bytes_out), (bytes, 0));
    }

    #[tokio::test]
    async fn an_end_has_a_reason_or_says_that_it_has_none() {
        let refused = || Err(Status::unavailable("the node is shutting down"));
        let why = outcome(|out| out.push_end(&refused())).await.unwrap_err().to_string();
        assert!(why.contains("the node is shutting down"), "{why}");
        let why = outcome(|out| out.push_end(&Ok(()))).await.unwrap_err().to_string();
        assert!(why.contains("without a reason"), "{why}");
    }
}
