//! The network's side of a lane: one Dispatch stream, written and read until either end is done. What carries it is in
//! the files below; here is what they have in common. Lanes of calls have no stream: see [`kserve`].

mod grpc;
mod quic;
mod tcp;

use std::future::{Future, pending, poll_fn, ready};
use std::io;
use std::pin::pin;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::Bytes;
use lon_net::flow::{Fill, Filled, Source};
use lon_net::framing::{Inbound, Incoming, Outbound};
use lon_proto::v1::{DispatchRequest, DispatchResponse, Open};
use tokio::sync::oneshot;
use tonic::Status;

use crate::config::{Policy, Transport};
use crate::driver::Wire;
use crate::error::failure_of;
use crate::kserve::{self, Promise};
use crate::lane::{Accepted, Lane};
use crate::remote::Remote;
use crate::shared::{Node, Shared};
use crate::text::printable;
use crate::types::{NodeFailure, Reply};
use quic::SharedLink;

/// After a write that failed: how long the other end's reason may be on its way.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// What carries a lane. Lanes with clones of one way share what can be shared.
#[derive(Clone, Debug)]
pub(crate) enum Way {
    Grpc(Remote),
    Tcp(Remote),
    Quic(SharedLink),
    Kserve(Remote, Arc<Promise>),
}

impl Way {
    /// A way for the lanes of one connection. `timeout`: how long each address of the node may take to answer.
    /// `promise`: what answers of a server of KServe's protocol are held against.
    pub(crate) fn new(
        transport: Transport,
        remote: Remote,
        promise: &Arc<Promise>,
        timeout: Duration,
    ) -> io::Result<Way> {
        Ok(match transport {
            Transport::Grpc => Way::Grpc(remote),
            Transport::Tcp => Way::Tcp(remote),
            Transport::Quic => Way::Quic(SharedLink::new(remote, timeout)?),
            Transport::Kserve => Way::Kserve(remote, Arc::clone(promise)),
        })
    }
}

/// Opens the stream, reports on `opened`, then carries the lane until it ends. A failure loses the lane's node.
pub(crate) async fn carry(shared: Arc<Shared>, wire: Wire, opened: oneshot::Sender<Result<(), NodeFailure>>) {
    let Wire { lane, way, run_id, timeout, .. } = wire;
    let way = match way {
        // No stream to open, and nothing like one to carry.
        Way::Kserve(remote, promise) => return kserve::carry(shared, lane, (remote, promise), timeout, opened).await,
        way => way,
    };
    let opening = Opening { timeout, opened };
    let outgoing = Outgoing { shared: Arc::clone(&shared), lane: Arc::clone(&lane), open: None };
    match way {
        Way::Grpc(remote) => {
            let outgoing = Outgoing { open: Some(Open { run_id }), ..outgoing };
            if let Some(source) = opening.wait(grpc::open(&remote, outgoing, timeout)).await {
                exchange(&shared, &lane, source, Inbound::default(), pending()).await;
            }
        }
        Way::Tcp(remote) => {
            let open = framed_open(run_id, &lane);
            if let Some((source, inbound, mut io)) = opening.wait(tcp::open(&remote, &open, &lane)).await {
                let writing = lon_net::tcp::write(&mut io, outgoing, Some(&*lane));
                exchange(&shared, &lane, source, inbound, writing).await;
            }
        }
        Way::Quic(link) => {
            let open = framed_open(run_id, &lane);
            // Connecting has its bounds, one for each address; what comes then is bounded as everywhere.
            let stream = match link.connect().await {
                Ok(link) => opening.wait(quic::open(link, &open, &lane)).await,
                Err(failure) => opening.wait(ready(Err(failure))).await,
            };
            if let Some((source, inbound, mut sending)) = stream {
                let writing = lon_net::quic::write(&mut sending, outgoing, Some(&*lane));
                exchange(&shared, &lane, source, inbound, writing).await;
            }
            link.leave().await;
        }
        Way::Kserve(..) => {}
    }
}

/// How long opening may take, and who waits for it.
struct Opening {
    timeout: Duration,
    opened: oneshot::Sender<Result<(), NodeFailure>>,
}

impl Opening {
    /// Waits and reports; what was opened is for the caller.
    async fn wait<T>(self, open: impl Future<Output = Result<T, NodeFailure>>) -> Option<T> {
        let Opening { timeout, opened } = self;
        let late = |_| Err(NodeFailure::Connection(format!("it did not open the stream within {timeout:?}")));
        let (stream, outcome) = match tokio::time::timeout(timeout, open).await.unwrap_or_else(late) {
            Ok(stream) => (Some(stream), Ok(())),
            Err(failure) => (None, Err(failure)),
        };
        // Nobody listens only when the start was given up already.
        let _ = opened.send(outcome);
        stream
    }
}

/// What a stream without HTTP begins with.
fn framed_open(run_id: Bytes, lane: &Lane) -> Vec<u8> {
    let mut out = Outbound::default();
    lane.count_other(out.push_message(&open_message(Open { run_id })), 0);
    std::iter::from_fn(|| out.pop()).flatten().collect()
}

fn open_message(open: Open) -> DispatchRequest {
    DispatchRequest { open: Some(open), ..DispatchRequest::default() }
}

/// Waits until the node has taken a stream without HTTP, which it says by a heartbeat. Returns what came behind it.
async fn accepted(source: &mut impl Source, lane: &Lane) -> Result<Inbound, NodeFailure> {
    let mut inbound = Inbound::default();
    loop {
        match inbound.next_message::<DispatchResponse>().map_err(|status| failure_of(&status))? {
            Some(Incoming::Message(message, bytes)) if message.heartbeat.is_some() => {
                lane.count_other(0, bytes);
                return Ok(inbound);
            }
            Some(Incoming::Message(..)) => {
                return Err(NodeFailure::Protocol("it answered before it was asked".to_owned()));
            }
            Some(Incoming::End(how)) => return Err(ended(how)),
            None => {}
        }
        match poll_fn(|cx| source.poll_read(cx, &mut inbound)).await {
            Ok(true) => {}
            Ok(false) => return Err(ended(Ok(()))),
            Err(status) => return Err(failure_of(&status)),
        }
    }
}

fn ended(how: Result<(), (tonic::Code, String)>) -> NodeFailure {
    match how {
        Ok(()) => NodeFailure::Ended("without a reason".to_owned()),
        Err((code, text)) => failure_of(&Status::new(code, text)),
    }
}

fn broken(error: impl Into<io::Error>) -> NodeFailure {
    NodeFailure::Connection(printable(&error.into().to_string()))
}

/// Reads and writes, in one task, until the stream is over. A failure loses the lane's node.
async fn exchange(
    shared: &Shared,
    lane: &Lane,
    source: impl Source,
    inbound: Inbound,
    writing: impl Future<Output = io::Result<()>>,
) {
    lane.opened();
    let mut reading = pin!(read(shared, lane, source, inbound));
    // What may wait behind the one cannot wait for ever: answers are as many as samples, and samples as windows allow.
    let outcome = tokio::select! {
        biased;
        outcome = &mut reading => outcome,
        written = writing => match written {
            Ok(()) => reading.await,
            // The other end knows better why, if it says so.
            Err(error) => tokio::time::timeout(LAST_WORDS, reading).await.unwrap_or_else(|_| Err(broken(error))),
        },
    };
    if let Err(failure) = outcome {
        shared.lose(lane.node, &failure);
    }
}

/// Reads until the stream ends. Its end is a failure unless the lane was closing.
async fn read(shared: &Shared, lane: &Lane, mut source: impl Source, mut inbound: Inbound) -> Result<(), NodeFailure> {
    let node = &shared.nodes[lane.node.0];
    let mut replies: Vec<Reply> = Vec::new();
    let mut now = Instant::now();
    loop {
        let mut accepted = Accepted::More;
        while accepted == Accepted::More {
            let outcome = lane.accept(&mut inbound, now, &mut replies);
            deliver(shared, lane, node, &mut replies);
            accepted = outcome?;
        }
        if let Accepted::End(how) = accepted {
            return if lane.is_closing() {
                Ok(())
            } else {
                how.and(Err(NodeFailure::Ended("without a reason".to_owned())))
            };
        }
        let read = poll_fn(|cx| source.poll_read(cx, &mut inbound)).await;
        now = Instant::now();
        match read {
            Ok(true) => {}
            Ok(false) | Err(_) if lane.is_closing() => return Ok(()),
            Ok(false) => return Err(NodeFailure::Ended("without a reason".to_owned())),
            Err(status) => return Err(failure_of(&status)),
        }
    }
}

/// Gives the replies to the sink; what they make room for may be pulled.
pub(crate) fn deliver(shared: &Shared, lane: &Lane, node: &Node, replies: &mut Vec<Reply>) {
    if replies.is_empty() {
        return;
    }
    let answers = replies.len() as u64;
    shared.sink.replies(replies);
    replies.clear();
    if shared.policy == Policy::Pull {
        let mut window = node.window.lock().unwrap_or_else(PoisonError::into_inner);
        window.answered(answers, Instant::now());
        drop(window);
        lane.wake();
    }
}

/// The messages of a stream: Open, unless it was sent by other means, then whatever the lane has, then the end when it closes.
struct Outgoing {
    shared: Arc<Shared>,
    lane: Arc<Lane>,
    open: Option<Open>,
}

impl Fill for Outgoing {
    fn poll_fill(&mut self, cx: &mut Context<'_>, out: &mut Outbound) -> Poll<Filled> {
        if let Some(open) = self.open.take() {
            self.lane.count_other(out.push_message(&open_message(open)), 0);
            return Poll::Ready(Filled::Some);
        }
        // Registered before looking, so that a sample pushed in between is not missed.
        self.lane.register_writer(cx.waker());
        if self.lane.is_closing() {
            return Poll::Ready(Filled::End(Ok(())));
        }
        loop {
            if self.lane.fill(out) {
                return Poll::Ready(Filled::Some);
            }
            if !self.shared.refill(&self.lane) {
                break;
            }
        }
        if self.shared.flushing.load(SeqCst) {
            self.shared.sent.notify_one();
        }
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use lon_proto::limits::RUN_ID_BYTES;
    use lon_proto::v1::Heartbeat;
    use tonic::Code;

    use super::*;
    use crate::types::NodeIndex;

    /// Gives what was put into it, then closes.
    struct Said(Outbound);

    impl Source for Said {
        fn poll_read(&mut self, _: &mut Context<'_>, into: &mut Inbound) -> Poll<Result<bool, Status>> {
            Poll::Ready(Ok(self.0.pop().map(|chunk| into.push(chunk)).is_some()))
        }
    }

    fn lane() -> Lane {
        Lane::new(NodeIndex(0), 1)
    }

    async fn outcome(say: impl FnOnce(&mut Outbound)) -> Result<Inbound, NodeFailure> {
        let mut out = Outbound::default();
        say(&mut out);
        accepted(&mut Said(out), &lane()).await
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
        let run_id = Bytes::from(vec![3; RUN_ID_BYTES]);
        let mut inbound = Inbound::default();
        let lane = lane();
        inbound.push(framed_open(run_id.clone(), &lane).into());
        let Ok(Some(Incoming::Message(message, bytes))) = inbound.next_message::<DispatchRequest>() else { panic!() };
        assert_eq!(message.open.map(|open| open.run_id), Some(run_id));
        let counts = lane.counters.read();
        assert_eq!((counts.other_bytes_out, counts.message_bytes_out), (bytes, 0));
    }

    #[test]
    fn an_end_has_a_reason_or_says_that_it_has_none() {
        let why = ended(Err((Code::Unavailable, "the node is shutting down".to_owned()))).to_string();
        assert!(why.contains("the node is shutting down"), "{why}");
        assert!(ended(Ok(())).to_string().contains("without a reason"));
    }
}
