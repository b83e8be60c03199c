//! The gRPC side of a lane: one connection, one Dispatch stream, written and read until either end is done.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::{FutureExt as _, Stream};
use lon_proto::limits;
use lon_proto::v1::sut_node_client::SutNodeClient;
use lon_proto::v1::{DispatchRequest, DispatchResponse, Open};
use tokio::sync::oneshot;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Status, Streaming};

use crate::address::NodeAddress;
use crate::driver::Wire;
use crate::error::explain;
use crate::lane::{Accepted, Lane};
use crate::shared::{Node, Shared};
use crate::text::printable;
use crate::types::{NodeFailure, Reply};

/// Replies handed to the sink at once at most.
const BURST: usize = 256;

/// An HTTP/2 endpoint with explicit windows and frames, for hot and control connections alike.
pub(crate) fn endpoint(address: &NodeAddress, timeout: Duration) -> Result<Endpoint, tonic::transport::Error> {
    Ok(Endpoint::from_shared(format!("http://{address}"))?
        .connect_timeout(timeout)
        .tcp_nodelay(true)
        .initial_stream_window_size(limits::HTTP2_STREAM_WINDOW_BYTES)
        .initial_connection_window_size(limits::HTTP2_CONNECTION_WINDOW_BYTES)
        .max_frame_size(limits::HTTP2_FRAME_BYTES))
}

/// Opens the stream, reports on `opened`, then carries the lane until it ends. A failure loses the lane's node.
pub(crate) async fn carry(shared: Arc<Shared>, wire: Wire, opened: oneshot::Sender<Result<(), NodeFailure>>) {
    let Wire { lane, endpoint, run_id, timeout } = wire;
    let late = |_| Err(NodeFailure::Connection(format!("it did not open the stream within {timeout:?}")));
    let stream = tokio::time::timeout(timeout, open(&shared, &lane, endpoint, run_id)).await.unwrap_or_else(late);
    let stream = match stream {
        Ok(stream) => stream,
        Err(failure) => {
            // Nobody listens only when the start was given up already.
            let _ = opened.send(Err(failure));
            return;
        }
    };
    let _ = opened.send(Ok(()));
    if let Err(failure) = read(&shared, &lane, stream).await {
        shared.lose(lane.node, &failure);
    }
}

async fn open(
    shared: &Arc<Shared>,
    lane: &Arc<Lane>,
    endpoint: Endpoint,
    run_id: Bytes,
) -> Result<Streaming<DispatchResponse>, NodeFailure> {
    let channel: Channel = endpoint.connect().await.map_err(|error| NodeFailure::Connection(explain(&error)))?;
    let mut client = SutNodeClient::new(channel).max_decoding_message_size(limits::MAX_MESSAGE_BYTES);
    let outgoing = Outgoing { shared: Arc::clone(shared), lane: Arc::clone(lane), open: Some(Open { run_id }) };
    let response = client.dispatch(outgoing).await;
    response.map(tonic::Response::into_inner).map_err(|status| failure_of(&status))
}

/// Reads until the stream ends. Its end is a failure unless the lane was closing.
async fn read(shared: &Shared, lane: &Lane, mut stream: Streaming<DispatchResponse>) -> Result<(), NodeFailure> {
    let node = &shared.nodes[lane.node.0];
    let mut replies: Vec<Reply> = Vec::with_capacity(BURST);
    loop {
        let mut next = Some(stream.message().await);
        // What has come already is taken in one go, and handed over in one go.
        while let Some(message) = next {
            let outcome = take(lane, node, message, &mut replies);
            let settled = !matches!(outcome, Ok(true));
            if settled || replies.len() >= BURST {
                deliver(shared, lane, node, &mut replies);
            }
            if settled {
                return outcome.map(|_| ());
            }
            next = stream.message().now_or_never();
        }
        deliver(shared, lane, node, &mut replies);
    }
}

/// One message into replies; false when the stream has ended as it should.
fn take(
    lane: &Lane,
    node: &Node,
    message: Result<Option<DispatchResponse>, Status>,
    replies: &mut Vec<Reply>,
) -> Result<bool, NodeFailure> {
    match message {
        Ok(Some(message)) => match lane.accept(message, Instant::now(), &node.counters) {
            Accepted::Reply(reply) => replies.push(reply),
            Accepted::Nothing => {}
            Accepted::Breach(breach) => return Err(NodeFailure::Protocol(breach)),
        },
        Ok(None) | Err(_) if lane.is_closing() => return Ok(false),
        Ok(None) => return Err(NodeFailure::Ended("without a reason".to_owned())),
        Err(status) => return Err(failure_of(&status)),
    }
    Ok(true)
}

fn deliver(shared: &Shared, lane: &Lane, node: &Node, replies: &mut Vec<Reply>) {
    if replies.is_empty() {
        return;
    }
    let answers = replies.len() as u64;
    shared.sink.replies(replies);
    replies.clear();
    if shared.policy == crate::config::Policy::Pull {
        let mut window = node.window.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        window.answered(answers, Instant::now());
        drop(window);
        lane.wake();
    }
}

fn failure_of(status: &Status) -> NodeFailure {
    match status.code() {
        Code::Internal | Code::DataLoss | Code::OutOfRange => NodeFailure::Protocol(printable(status.message())),
        Code::Unknown | Code::Cancelled => NodeFailure::Connection(printable(status.message())),
        _ => NodeFailure::Ended(printable(&format!("{}: {}", status.code().description(), status.message()))),
    }
}

/// The messages that tonic sends: Open, then whatever the lane has, then the end when it closes.
struct Outgoing {
    shared: Arc<Shared>,
    lane: Arc<Lane>,
    open: Option<Open>,
}

impl Stream for Outgoing {
    type Item = DispatchRequest;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<DispatchRequest>> {
        if let Some(open) = self.open.take() {
            return Poll::Ready(Some(DispatchRequest { open: Some(open), ..DispatchRequest::default() }));
        }
        // Registered before looking, so that a sample pushed in between is not missed.
        self.lane.register_writer(cx.waker());
        if self.lane.is_closing() {
            return Poll::Ready(None);
        }
        let counters = &self.shared.nodes[self.lane.node.0].counters;
        loop {
            if let Some(message) = self.lane.next_message(counters) {
                return Poll::Ready(Some(message));
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
