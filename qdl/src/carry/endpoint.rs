//! Where a node is and how it is connected to: its address, TLS, and counters of what crosses the sockets.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hyper_util::rt::TokioIo;
use lon_net::address::NodeAddress;
use lon_net::dial::{begin, dial_at};
use lon_net::io::NetStream;
use lon_net::socket::Network;
use lon_net::tls::{ClientTls, Protocol};
use lon_proto::limits;
use tokio::io::{AsyncRead, AsyncWrite};
use tonic::codegen::http::Uri;
use tonic::transport::{Channel, Error};
use tower::service_fn;

use crate::account::traffic::{Ends, Sockets};

/// A connection's socket as HTTP/2 sees it.
pub(crate) trait Io: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Io for T {}

/// A connection for HTTP/2 that is being made.
pub(super) type Connecting = Pin<Box<dyn Future<Output = Result<Channel, Error>> + Send>>;

/// One node as a transport sees it. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Endpoint {
    pub(crate) address: NodeAddress,
    /// The addresses that its name led to, which are dialled in turn. None on a network that was brought.
    pub(crate) at: Vec<SocketAddr>,
    pub(crate) tls: Option<ClientTls>,
    /// The network that is used instead of the kernel's TCP, if one was brought.
    pub(crate) network: Option<Arc<dyn Network>>,
    /// Counts what crosses the sockets to the node.
    pub(crate) sockets: Arc<Sockets>,
}

impl Endpoint {
    /// A node that is reached over the kernel's TCP, where its name led.
    pub fn new(address: NodeAddress, at: Vec<SocketAddr>, tls: Option<ClientTls>) -> Endpoint {
        Endpoint { address, at, tls, network: None, sockets: Arc::default() }
    }

    /// The node's address as the caller gave it.
    pub fn address(&self) -> &NodeAddress {
        &self.address
    }

    /// Returns the settings that verify the node, or `None` without TLS.
    pub fn tls(&self) -> Option<&ClientTls> {
        self.tls.as_ref()
    }

    /// Connects over TCP, or over the network that was brought, with TLS if it is configured. What crosses the socket
    /// is counted. Waits as long as the operating system does.
    ///
    /// # Errors
    /// No connection, or a TLS handshake that failed.
    pub async fn dial(&self, protocol: Protocol) -> io::Result<NetStream> {
        let Endpoint { address, at, tls, network, sockets } = self;
        let (address, tls, counters) = (address.to_string(), tls.as_ref(), sockets.counters());
        let stream = match network {
            None => dial_at(&address, at, tls, protocol, counters).await?,
            Some(network) => begin(&address, network.connect(&address), tls, protocol, counters).await?,
        };
        if let (Some(local), Some(remote)) = (stream.socket().local_addr(), stream.socket().peer_addr()) {
            sockets.connected(Ends { local: local.ip(), remote });
        }
        Ok(stream)
    }

    /// Connects for HTTP/2, for calls of any gRPC service that the node has. `timeout` is for the connection alone.
    ///
    /// # Errors
    /// As [`Endpoint::dial`], and a connection that takes longer than `timeout`.
    pub fn channel(&self, timeout: Duration) -> Connecting {
        self.channel_through(timeout, |io| Box::new(io))
    }

    /// A connection for HTTP/2, which sees the socket as `wrap` shows it.
    pub(crate) fn channel_through(
        &self,
        timeout: Duration,
        wrap: impl Fn(NetStream) -> Box<dyn Io> + Send + Sync + 'static,
    ) -> Connecting {
        connect(self.clone(), timeout, Arc::new(wrap))
    }

    /// HTTP/2 with explicit windows and frames, the same for Dispatch streams and control calls. [`Endpoint::dial`]
    /// makes the TLS, so tonic is told that the connection is plain text; the origin is the scheme that requests name.
    fn http2(&self, timeout: Duration) -> Result<tonic::transport::Endpoint, Error> {
        let uri = |scheme| Bytes::from(format!("{scheme}://{}", self.address));
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        let origin = tonic::transport::Endpoint::from_shared(uri(scheme))?.uri().clone();
        Ok(tonic::transport::Endpoint::from_shared(uri("http"))?
            .origin(origin)
            .connect_timeout(timeout)
            .initial_stream_window_size(limits::HTTP2_STREAM_WINDOW_BYTES)
            .initial_connection_window_size(limits::HTTP2_CONNECTION_WINDOW_BYTES)
            .max_frame_size(limits::HTTP2_FRAME_BYTES))
    }
}

/// The one place that names HTTP/2's client, which is compiled once for each type of connector, socket and caller: so
/// all three are hidden.
fn connect(
    endpoint: Endpoint,
    timeout: Duration,
    wrap: Arc<dyn Fn(NetStream) -> Box<dyn Io> + Send + Sync>,
) -> Connecting {
    let http2 = endpoint.http2(timeout);
    let connector = service_fn(move |_: Uri| {
        let (endpoint, wrap) = (endpoint.clone(), Arc::clone(&wrap));
        async move { Ok::<_, io::Error>(TokioIo::new(wrap(endpoint.dial(Protocol::Grpc).await?))) }
    });
    Box::pin(async move { http2?.connect_with_connector(connector).await })
}
