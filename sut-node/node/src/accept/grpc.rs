//! gRPC: the calls of `lon.v1`, Dispatch streams and the standard health service over HTTP/2.
//!
//! What one connection can make the node hold is bounded here: streams, bytes of heads, and the time and the bytes that
//! the request of a call may take.

use std::convert::Infallible;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use lon_net::grpc::{self, BodySource};
use lon_net::io::Peer;
use lon_proto::limits;
use lon_proto::v1::sut_node_server::{SERVICE_NAME, SutNodeServer};
use tokio::sync::mpsc;
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::{BoxFuture, Bytes, Service as HttpService, http};
use tonic::server::NamedService;
use tonic::transport::server::Connected as _;
use tonic_health::pb::health_server::HealthServer;
use tonic_health::server::{HealthReporter, HealthService};

use super::acceptor::{Acceptor, Serving, Streams};
use super::listener::{Visit, serve_each};
use super::open_connection::{Call, OpenConnection, STRANGERS_CALLS};
use super::read_limit::Rationed;
use crate::run::connections::Connection;
use crate::service::calls::Service;
use crate::stop::Stop;

/// The most streams of one connection at one time. A LoadGen node has one Dispatch stream on a connection, or a handful
/// of control calls.
const MAX_STREAMS: u32 = 64;

/// The most bytes of the head of one request.
const MAX_HEAD_BYTES: u32 = 16 << 10;

/// The most streams of one connection that were reset and are still remembered; with more it is closed.
const MAX_RESET_STREAMS: usize = 64;

/// The most bytes of the request of a call. Samples do not come as calls.
const MAX_CALL_BYTES: usize = 8 << 10;

/// Time limit for the arrival of a call's request. The answer may take longer: Flush waits for samples.
const CALL_TIMEOUT: Duration = Duration::from_secs(10);

/// The calls that claim the node.
const CLAIMING: [&str; 2] = ["StartRun", "Probe"];

/// The gRPC connections of one I/O thread.
pub(crate) struct Grpc {
    /// Connections that begin as HTTP/2 does.
    incoming: mpsc::Receiver<Visit>,
    services: Services,
}

impl Grpc {
    /// Serves what comes in through `incoming`.
    pub(crate) fn new(incoming: mpsc::Receiver<Visit>, services: Services) -> Grpc {
        Grpc { incoming, services }
    }
}

impl Acceptor for Grpc {
    fn serve(self: Box<Self>, streams: Streams) -> Serving {
        Box::pin(async move {
            let Grpc { incoming, services } = *self;
            serve_each(incoming, |visit| serve(services.clone(), streams.clone(), visit)).await;
            Ok(())
        })
    }
}

/// Serves one connection to its end. A node that shuts down lets the calls end that were begun.
async fn serve(services: Services, streams: Streams, visit: Visit) {
    let Visit { stream, entry } = visit;
    let caller = Caller { peer: stream.connect_info(), entry: entry.clone(), services, streams: streams.clone() };
    let io = TokioIo::new(Rationed::new(stream, entry.clone()));
    let connection = http2().serve_connection(io, service_fn(move |request| caller.clone().answer(request)));
    let to_its_end = async {
        let mut connection = pin!(connection);
        tokio::select! {
            biased;
            ended = connection.as_mut() => return ended,
            () = streams.stopped() => connection.as_mut().graceful_shutdown(),
        }
        connection.await
    };
    match entry.serve(to_its_end).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::debug!(%error, "an HTTP/2 connection ended early"),
        Err(why) => tracing::debug!(%why, "an HTTP/2 connection was closed"),
    }
}

/// The builder of connections of HTTP/2, with their bounds.
pub(super) fn http2() -> http2::Builder<TokioExecutor> {
    let mut builder = http2::Builder::new(TokioExecutor::new());
    builder
        .timer(TokioTimer::new())
        .initial_stream_window_size(limits::HTTP2_STREAM_WINDOW_BYTES)
        .initial_connection_window_size(limits::HTTP2_CONNECTION_WINDOW_BYTES)
        .max_frame_size(limits::HTTP2_FRAME_BYTES)
        .max_concurrent_streams(MAX_STREAMS)
        .max_header_list_size(MAX_HEAD_BYTES)
        .max_pending_accept_reset_streams(MAX_RESET_STREAMS)
        .max_local_error_reset_streams(MAX_RESET_STREAMS)
        // A LoadGen node whose host died closes nothing; its claim must lapse all the same.
        .keep_alive_interval(limits::KEEPALIVE_INTERVAL)
        .keep_alive_timeout(limits::KEEPALIVE_TIMEOUT);
    builder
}

/// One connection's client, and what it may call.
#[derive(Clone)]
struct Caller {
    peer: Peer,
    entry: OpenConnection,
    services: Services,
    streams: Streams,
}

impl Caller {
    async fn answer(self, request: http::Request<Incoming>) -> Result<http::Response<Body>, Infallible> {
        self.answered(request).await.or_else(|status| Ok(status.into_http()))
    }

    async fn answered(mut self, mut request: http::Request<Incoming>) -> Result<http::Response<Body>, Status> {
        let call = self.entry.call().ok_or_else(|| {
            Status::resource_exhausted(format!("{STRANGERS_CALLS} calls at a time on a connection without a run"))
        })?;
        request.extensions_mut().insert(self.peer.clone());
        if request.uri().path() == grpc::DISPATCH_PATH {
            return Ok(self.claiming(request.map(Body::new)).await);
        }
        let claims = is_claiming(request.uri().path());
        let request = whole(request).await?;
        let response = if claims { self.claiming(request).await } else { self.call(request).await };
        Ok(response.map(|body| Body::new(CallBody { body, _call: call })))
    }

    /// A call after which the connection belongs to the run that has the node, if it goes well.
    async fn claiming(&mut self, request: http::Request<Body>) -> http::Response<Body> {
        let response = self.call(request).await;
        // A failure alone has its status here.
        if Status::from_header_map(response.headers()).is_none() {
            self.streams.welcome(&self.entry);
        }
        response
    }

    async fn call(&mut self, request: http::Request<Body>) -> http::Response<Body> {
        self.services.call(request).await
    }
}

fn is_claiming(path: &str) -> bool {
    let call = path.strip_prefix('/').and_then(|path| path.strip_prefix(SERVICE_NAME)?.strip_prefix('/'));
    call.is_some_and(|call| CLAIMING.contains(&call))
}

/// Waits until a request has come in to its end.
async fn whole(request: http::Request<Incoming>) -> Result<http::Request<Body>, Status> {
    let (head, body) = request.into_parts();
    let coming = Limited::new(body, MAX_CALL_BYTES).collect();
    let bytes: Bytes = match tokio::time::timeout(CALL_TIMEOUT, coming).await {
        Ok(Ok(collected)) => collected.to_bytes(),
        Ok(Err(error)) if error.is::<LengthLimitError>() => {
            return Err(Status::resource_exhausted(format!("a request has {MAX_CALL_BYTES} bytes at most")));
        }
        Ok(Err(error)) => return Err(Status::cancelled(format!("the request broke off: {error}"))),
        Err(_) => {
            let why = format!("the request has not come in to its end within {} s", CALL_TIMEOUT.as_secs());
            return Err(Status::deadline_exceeded(why));
        }
    };
    Ok(http::Request::from_parts(head, Body::new(Full::new(bytes))))
}

/// The body of a response, and the call that is over with it.
struct CallBody {
    body: Body,
    _call: Call,
}

impl http_body::Body for CallBody {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<http_body::Frame<Bytes>, Status>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> http_body::SizeHint {
        self.body.size_hint()
    }
}

/// The node and its health as HTTP sees them.
#[derive(Clone)]
pub(crate) struct Services {
    node: GrpcNode,
    health: HealthServer<HealthService>,
}

impl Services {
    /// Those of a node, for all I/O threads. The health changes when the node is told to stop, for as long as the
    /// future runs.
    pub(crate) async fn new(service: &Arc<Service>, stop: Stop) -> (Services, impl Future<Output = ()> + use<>) {
        let health = HealthReporter::new();
        health.set_serving::<GrpcNode>().await;
        let services = Services {
            node: GrpcNode::new(Arc::clone(service)),
            health: HealthServer::new(HealthService::from_health_reporter(health.clone())),
        };
        let until_stop = async move {
            stop.wait().await;
            health.set_not_serving::<GrpcNode>().await;
        };
        (services, until_stop)
    }

    /// Calls the service that the path of a request begins with.
    async fn call(&mut self, request: http::Request<Body>) -> http::Response<Body> {
        let name = request.uri().path().split('/').nth(1).unwrap_or_default();
        let response = match name {
            GrpcNode::NAME => self.node.call(request).await,
            HEALTH => self.health.call(request).await,
            _ => Ok(Status::unimplemented(format!("there is no service '{name}' here")).into_http()),
        };
        response.unwrap_or_else(|never| match never {})
    }
}

/// The name of the standard health service, with which the paths of its calls begin.
const HEALTH: &str = <HealthServer<HealthService> as NamedService>::NAME;

/// The service as HTTP sees it: Dispatch streams with bodies of our own, which copy no payload, everything else by the
/// generated code.
#[derive(Clone)]
struct GrpcNode {
    service: Arc<Service>,
    calls: SutNodeServer<Service>,
}

impl GrpcNode {
    fn new(service: Arc<Service>) -> GrpcNode {
        let calls = SutNodeServer::from_arc(Arc::clone(&service));
        GrpcNode { service, calls }
    }
}

impl NamedService for GrpcNode {
    const NAME: &'static str = <SutNodeServer<Service> as NamedService>::NAME;
}

impl HttpService<http::Request<Body>> for GrpcNode {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<http::Response<Body>, Infallible>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        if request.uri().path() != grpc::DISPATCH_PATH {
            return self.calls.call(request);
        }
        let service = Arc::clone(&self.service);
        let peer = request.extensions().get::<Peer>();
        let connection = peer.map(|peer| Arc::clone(&peer.counters) as Arc<dyn Connection>);
        Box::pin(async move {
            let opened = service.open_stream(BodySource::new(request.into_body()), connection).await;
            Ok(opened.map_or_else(Status::into_http, grpc::response))
        })
    }
}
