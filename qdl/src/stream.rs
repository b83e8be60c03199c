//! The gRPC side of a lane: one connection, one Dispatch stream, written and read until either end is done.

use std::future::poll_fn;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::Bytes;
use hyper_util::rt::TokioIo;
use lon_net::flow::{Fill, Filled, Source};
use lon_net::framing::{Inbound, Outbound};
use lon_net::grpc::{self, BodySource};
use lon_net::meter::MeteredIo;
use lon_proto::limits;
use lon_proto::v1::{DispatchRequest, Open};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tonic::Status;
use tonic::codegen::Service as _;
use tonic::codegen::http::Uri;
use tonic::transport::Endpoint;
use tower::service_fn;

use crate::address::NodeAddress;
use crate::config::Policy;
use crate::driver::Wire;
use crate::error::{explain, failure_of};
use crate::lane::{Accepted, Lane};
use crate::shared::{Node, Shared};
use crate::types::{NodeFailure, Reply};

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
    let source = tokio::time::timeout(timeout, open(&shared, &lane, endpoint, run_id)).await.unwrap_or_else(late);
    let source = match source {
        Ok(source) => source,
        Err(failure) => {
            // Nobody listens only when the start was given up already.
            let _ = opened.send(Err(failure));
            return;
        }
    };
    let _ = opened.send(Ok(()));
    if let Err(failure) = read(&shared, &lane, source).await {
        shared.lose(lane.node, &failure);
    }
}

async fn open(
    shared: &Arc<Shared>,
    lane: &Arc<Lane>,
    endpoint: Endpoint,
    run_id: Bytes,
) -> Result<BodySource, NodeFailure> {
    let metered = Arc::clone(lane);
    let connector = service_fn(move |uri: Uri| {
        let lane = Arc::clone(&metered);
        async move {
            let address = format!("{}:{}", uri.host().unwrap_or_default(), uri.port_u16().unwrap_or_default());
            let io = TcpStream::connect(address).await?;
            io.set_nodelay(true)?;
            Ok::<_, std::io::Error>(TokioIo::new(MeteredIo::new(io, lane)))
        }
    });
    let channel = endpoint.connect_with_connector(connector).await;
    let mut channel = channel.map_err(|error| NodeFailure::Connection(explain(&error)))?;
    let outgoing = Outgoing { shared: Arc::clone(shared), lane: Arc::clone(lane), open: Some(Open { run_id }) };
    let ready = poll_fn(|cx| channel.poll_ready(cx)).await;
    ready.map_err(|error| NodeFailure::Connection(explain(&error)))?;
    let response = channel.call(grpc::request(outgoing)).await;
    let response = response.map_err(|error| failure_of(&Status::from_error(error.into())))?;
    grpc::accepted(response).map_err(|status| failure_of(&status))
}

/// Reads until the stream ends. Its end is a failure unless the lane was closing.
async fn read(shared: &Shared, lane: &Lane, mut source: impl Source) -> Result<(), NodeFailure> {
    let node = &shared.nodes[lane.node.0];
    let mut inbound = Inbound::default();
    let mut replies: Vec<Reply> = Vec::new();
    loop {
        let read = poll_fn(|cx| source.poll_read(cx, &mut inbound)).await;
        let now = Instant::now();
        match read {
            Ok(true) => {}
            Ok(false) | Err(_) if lane.is_closing() => return Ok(()),
            Ok(false) => return Err(NodeFailure::Ended("without a reason".to_owned())),
            Err(status) => return Err(failure_of(&status)),
        }
        let mut accepted = Accepted::More;
        while accepted == Accepted::More {
            let outcome = lane.accept(&mut inbound, now, &node.counters, &mut replies);
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
    }
}

fn deliver(shared: &Shared, lane: &Lane, node: &Node, replies: &mut Vec<Reply>) {
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

/// The messages of a stream: Open, then whatever the lane has, then the end when it closes.
struct Outgoing {
    shared: Arc<Shared>,
    lane: Arc<Lane>,
    open: Option<Open>,
}

impl Fill for Outgoing {
    fn poll_fill(&mut self, cx: &mut Context<'_>, out: &mut Outbound) -> Poll<Filled> {
        if let Some(open) = self.open.take() {
            out.push_message(&DispatchRequest { open: Some(open), ..DispatchRequest::default() });
            return Poll::Ready(Filled::Some);
        }
        // Registered before looking, so that a sample pushed in between is not missed.
        self.lane.register_writer(cx.waker());
        if self.lane.is_closing() {
            return Poll::Ready(Filled::End(Ok(())));
        }
        let counters = &self.shared.nodes[self.lane.node.0].counters;
        loop {
            if self.lane.fill(out, counters) {
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
