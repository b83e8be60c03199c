//! Servers that speak the Open Inference Protocol (KServe V2) over gRPC as nodes: Triton, mlserver, KServe's own and
//! others, with nothing of ours installed.
//!
//! - `server`: the control side: names, descriptions, readiness;
//! - `session`: what carries a lane: connections that servers may ask to be left, and what waits to be sent again;
//! - `link`, `call`: one connection, one call;
//! - `frame`, `answer`: requests and answers as bytes; `promise`: what answers are held against. Pure.
//!
//! A sample is a call of its own (unary), many at once on each connection. Its body has been prepared; the QDL adds the
//! call's id in front of it and nothing else. All calls of a lane are carried by one task on whichever thread drives the
//! lane: SingleStream needs no hand-over here either.
//!
//! What such nodes lack, and what is made of it:
//! - *Names.* All servers of a kind have the same: the caller gives them. Asking for the name is a round trip of
//!   ServerMetadata all the same, without a nonce.
//! - *Claims and bounds.* Nobody keeps others out, and nothing is said of how much may be in flight: here it is
//!   [`MAX_SAMPLES_IN_FLIGHT`] a node, and whatever HTTP/2 is told of concurrent streams.
//! - *Heartbeats.* Pings would be taken for abuse, and a server written in Python may not answer for as long as it
//!   computes. TCP's keepalive finds dead hosts; a server that is frozen is found by the response timeout.
//! - *Counters, stage times, codecs, probes.* None.

mod answer;
mod call;
mod frame;
mod link;
mod promise;
mod server;
mod session;

use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use lon_proto::kserve::INFER_PATH;
use lon_proto::v1::StartRunResponse;
use tokio::sync::oneshot;
use tonic::codegen::http::{HeaderValue, Method, Request, Uri, Version, header};

use crate::address::NodeAddress;
use crate::lane::Lane;
use crate::remote::Remote;
use crate::shared::Shared;
use crate::types::NodeFailure;
use link::Dialler;
pub(crate) use promise::Promise;
pub(crate) use server::Server;
use session::Session;

/// Why there are no counters of the other end.
pub const NO_COUNTERS: &str = "SUT counters not available: not a SUT node";

/// Samples that a server is given before it has answered.
const MAX_SAMPLES_IN_FLIGHT: u64 = 4 << 10;
/// Bytes of samples likewise.
const MAX_BYTES_IN_FLIGHT: u64 = 1 << 30;
/// Samples that keep a server busy while nodes pull; the window grows from there as long as it is emptied quickly.
const BUSY_SAMPLES: u64 = 16;

/// What such a node would have said to StartRun.
pub(crate) fn bounds() -> StartRunResponse {
    StartRunResponse {
        max_samples_in_flight: MAX_SAMPLES_IN_FLIGHT,
        max_bytes_in_flight: MAX_BYTES_IN_FLIGHT,
        max_sample_bytes: lon_proto::limits::MAX_SAMPLE_BYTES,
        busy_samples: BUSY_SAMPLES,
    }
}

/// Connects, reports on `opened`, then carries the lane until it closes. A failure loses the lane's node.
pub(crate) async fn carry(
    shared: Arc<Shared>,
    lane: Arc<Lane>,
    (remote, promise): (Remote, Arc<Promise>),
    timeout: Duration,
    opened: oneshot::Sender<Result<(), NodeFailure>>,
) {
    let head = request_head(&remote.address, remote.tls.is_some());
    let dialler = Dialler { remote, lane: Arc::clone(&lane), timeout };
    let link = match head {
        Ok(head) => dialler.clone().dial().await.map(|link| (head, link)),
        Err(failure) => Err(failure),
    };
    // Nobody listens only when the start was given up already.
    let _ = opened.send(link.as_ref().map(|_| ()).map_err(Clone::clone));
    let Ok((head, link)) = link else { return };
    let mut session = Session::new(Arc::clone(&shared), dialler, promise, head, link);
    if let Err(failure) = poll_fn(|cx| session.poll(cx)).await {
        shared.lose(lane.node, &failure);
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
