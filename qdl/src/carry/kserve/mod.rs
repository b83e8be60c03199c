//! The transport `kserve`: servers that speak the Open Inference Protocol (KServe V2) over gRPC as nodes: Triton,
//! mlserver, KServe's own and others, with nothing of ours installed.
//!
//! - `session`: what carries a lane: connections that servers may ask to be left, and calls that are to be sent again;
//! - `connection`, `call`: one connection, one call;
//! - `frame`, `answer`: requests and answers as bytes. Pure.
//!
//! Answers are checked by `declared_outputs`. The control side of such a server is in `control/kserve.rs`.
//!
//! A sample is a call of its own (unary), many at once on each connection. The caller has prepared its body; the
//! call's id is added in front of it and nothing else. All calls of a lane are carried by one task on the thread that
//! drives the lane, so SingleStream needs no hand-over between threads here either.
//!
//! h2 is used directly, since only it tells whether a server that goes away has seen a call.
//!
//! What such nodes lack, and what is done instead:
//! - *Names.* All servers of a kind have the same: the caller gives them. Asking for the name is a round trip of
//!   ServerMetadata, without a nonce.
//! - *Claims and bounds.* Nothing keeps other clients out, and nothing is said of how much may be in flight: the bounds
//!   are our own, and the server's limit of concurrent HTTP/2 streams.
//! - *Heartbeats.* Servers take pings for abuse, and one written in Python may not answer while it computes. TCP's
//!   keepalive finds dead hosts; the response timeout finds a server that is frozen.
//! - *Counters, stage times, codecs, probes.* There are none.

mod answer;
mod call;
mod connection;
mod frame;
mod session;

use std::future::poll_fn;
use std::sync::Arc;

use bytes::Bytes;
use lon_net::address::NodeAddress;
use lon_proto::kserve::INFER_PATH;
use lon_proto::kserve::v2::model_metadata_response::TensorMetadata;
use tokio::task::JoinSet;
use tonic::codegen::http::{HeaderValue, Method, Request, Uri, Version, header};

use super::declared_outputs::Promise;
use super::endpoint::Endpoint;
use super::lane_task::LaneTask;
use super::transport::Carry;
use crate::error::ConnectError;
use crate::peer_kind::PeerKind;
use crate::types::NodeFailure;
use connection::Dialler;
use session::Session;

#[derive(Debug)]
pub(super) struct Kserve;

impl Carry for Kserve {
    fn name(&self) -> &'static str {
        "kserve"
    }

    fn help(&self) -> &'static str {
        "The Open Inference Protocol (KServe V2, gRPC): servers such as Triton, with no SUT node installed"
    }

    fn protocol(&self) -> &'static str {
        "Open Inference Protocol (KServe V2), gRPC (HTTP/2) over TCP"
    }

    fn peer_kind(&self) -> PeerKind {
        PeerKind::KSERVE_SERVER
    }

    fn carry(&self, endpoint: Endpoint, lanes: Vec<LaneTask>, tasks: &mut JoinSet<()>) -> Result<(), ConnectError> {
        for lane in lanes {
            tasks.spawn(carry_lane(endpoint.clone(), lane));
        }
        Ok(())
    }
}

/// Connects, reports, then carries the lane until it closes. A failure loses the lane's node.
async fn carry_lane(endpoint: Endpoint, task: LaneTask) {
    let LaneTask { dispatcher, lane, timeout, promise, opened, .. } = task;
    let head = request_head(&endpoint.address, endpoint.tls.is_some());
    let dialler = Dialler { endpoint, lane: Arc::clone(&lane), timeout };
    let connected = match head {
        Ok(head) => opened.gate.pass(dialler.clone().dial()).await.map(|connection| (head, connection)),
        Err(failure) => Err(failure),
    };
    let Some((head, connection)) = opened.send(connected) else { return };
    let mut session = Session::new(Arc::clone(&dispatcher), dialler, promise, head, connection);
    if let Err(failure) = poll_fn(|cx| session.poll(cx)).await {
        dispatcher.lose(lane.node, &failure);
    }
}

/// The head of every call.
fn request_head(address: &NodeAddress, tls: bool) -> Result<Request<()>, NodeFailure> {
    let scheme = if tls { "https" } else { "http" };
    let uri = Uri::from_maybe_shared(Bytes::from(format!("{scheme}://{address}{INFER_PATH}")));
    let uri = uri.map_err(|error| NodeFailure::Connection(error.to_string()))?;
    let mut head = Request::new(());
    *head.method_mut() = Method::POST;
    *head.uri_mut() = uri;
    *head.version_mut() = Version::HTTP_2;
    let headers = head.headers_mut();
    headers.insert(header::TE, HeaderValue::from_static("trailers"));
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
    headers.insert(header::USER_AGENT, HeaderValue::from_static(concat!("lon-qdl/", env!("CARGO_PKG_VERSION"))));
    Ok(head)
}

/// Reads the message that answers a call, of a server that said nothing of its model, and of one that said something.
/// For the fuzz targets.
pub(crate) fn fuzz_answer(message: &Bytes) {
    let metadata = TensorMetadata { name: "y".to_owned(), datatype: "FP32".to_owned(), shape: vec![-1, 2] };
    for promise in [Promise::default(), Promise::new(&[], &[metadata]).unwrap_or_default()] {
        session::outcome(message.clone(), 1, &promise);
    }
}
