//! gRPC: the calls of `lon.v1`, Dispatch streams and the standard health service over HTTP/2.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::sync::Arc;
use std::task::{Context, Poll};

use lon_net::grpc::{self, BodySource};
use lon_net::io::{NetStream, Peer};
use lon_proto::limits;
use lon_proto::v1::sut_node_server::SutNodeServer;
use tokio::sync::mpsc;
use tokio_stream::StreamExt as _;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::{BoxFuture, Service as HttpService, http};
use tonic::server::NamedService;
use tonic::service::Routes;
use tonic::transport::Server;

use super::transport::{Serving, Streams, Transport};
use crate::run::connections::Connection;
use crate::service::calls::Service;
use crate::stop::Stop;

/// The gRPC connections of one I/O thread.
pub(crate) struct Grpc {
    /// Connections that begin as HTTP/2 does.
    incoming: mpsc::Receiver<NetStream>,
    /// The node and its health, as HTTP sees them.
    routes: Routes,
}

impl Grpc {
    /// Serves what comes in through `incoming`.
    pub(crate) fn new(incoming: mpsc::Receiver<NetStream>, routes: Routes) -> Grpc {
        Grpc { incoming, routes }
    }
}

impl Transport for Grpc {
    fn serve(self: Box<Self>, streams: Streams) -> Serving {
        Box::pin(async move {
            let incoming = ReceiverStream::new(self.incoming).map(Ok::<_, io::Error>);
            Server::builder()
                .initial_stream_window_size(limits::HTTP2_STREAM_WINDOW_BYTES)
                .initial_connection_window_size(limits::HTTP2_CONNECTION_WINDOW_BYTES)
                .max_frame_size(limits::HTTP2_FRAME_BYTES)
                // A LoadGen node whose host died closes nothing; its claim must lapse all the same.
                .http2_keepalive_interval(Some(limits::KEEPALIVE_INTERVAL))
                .http2_keepalive_timeout(Some(limits::KEEPALIVE_TIMEOUT))
                .add_routes(self.routes)
                .serve_with_incoming_shutdown(incoming, async move { streams.stopped().await })
                .await?;
            Ok(())
        })
    }
}

/// The node and its health as HTTP sees them, for all I/O threads. The health changes when the node is told to stop,
/// for as long as the future runs.
pub(crate) async fn routes(service: &Arc<Service>, stop: Stop) -> (Routes, impl Future<Output = ()> + use<>) {
    let (health, health_service) = tonic_health::server::health_reporter();
    health.set_serving::<GrpcNode>().await;
    let routes = Routes::new(GrpcNode::new(Arc::clone(service))).add_service(health_service);
    let until_stop = async move {
        stop.told().await;
        health.set_not_serving::<GrpcNode>().await;
    };
    (routes, until_stop)
}

/// The service as HTTP sees it: Dispatch streams with bodies of our own, which copy no payload, everything else by the
/// generated code.
#[derive(Clone)]
struct GrpcNode {
    service: Arc<Service>,
    calls: SutNodeServer<Service>,
}

impl GrpcNode {
    fn new(service: Arc<Service>) -> GrpcNode {
        let calls = SutNodeServer::from_arc(Arc::clone(&service)).max_decoding_message_size(limits::MAX_MESSAGE_BYTES);
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
