//! The TCP port of one node, and how it is spoken to: in plain text or TLS, by HTTP/2 or without.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hyper_util::rt::TokioIo;
use lon_net::dial::dial;
use lon_net::io::NetStream;
use lon_net::tls::{ClientTls, Protocol};
use lon_proto::limits;
use tokio::io::{AsyncRead, AsyncWrite};
use tonic::codegen::http::Uri;
use tonic::transport::{Channel, Endpoint, Error};
use tower::service_fn;

use crate::address::NodeAddress;
use crate::traffic::Sockets;

#[derive(Clone, Debug)]
pub(crate) struct Remote {
    pub(crate) address: NodeAddress,
    pub(crate) tls: Option<ClientTls>,
    /// Told of all that crosses the sockets to it.
    pub(crate) sockets: Arc<Sockets>,
}

impl Remote {
    pub(crate) async fn dial(&self, protocol: Protocol) -> io::Result<NetStream> {
        let stream = dial(&self.address.to_string(), self.tls.as_ref(), protocol, self.sockets.counters()).await?;
        self.sockets.connected_from(stream.tcp().local_addr()?.ip());
        Ok(stream)
    }

    /// A connection for HTTP/2, which sees the socket as `wrap` shows it.
    pub(crate) async fn channel<T>(
        &self,
        timeout: Duration,
        wrap: impl Fn(NetStream) -> T + Clone + Send + Sync + 'static,
    ) -> Result<Channel, Error>
    where
        T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let remote = self.clone();
        let connector = service_fn(move |_: Uri| {
            let (remote, wrap) = (remote.clone(), wrap.clone());
            async move { Ok::<_, io::Error>(TokioIo::new(wrap(remote.dial(Protocol::Grpc).await?))) }
        });
        self.endpoint(timeout)?.connect_with_connector(connector).await
    }

    /// With explicit windows and frames, for hot and control connections alike. What is connected to is plain text as
    /// far as tonic knows, since [`Remote::dial`] makes the TLS; the origin is what requests say of themselves.
    fn endpoint(&self, timeout: Duration) -> Result<Endpoint, Error> {
        let uri = |scheme| Bytes::from(format!("{scheme}://{}", self.address));
        let origin = Endpoint::from_shared(uri(if self.tls.is_some() { "https" } else { "http" }))?.uri().clone();
        Ok(Endpoint::from_shared(uri("http"))?
            .origin(origin)
            .connect_timeout(timeout)
            .initial_stream_window_size(limits::HTTP2_STREAM_WINDOW_BYTES)
            .initial_connection_window_size(limits::HTTP2_CONNECTION_WINDOW_BYTES)
            .max_frame_size(limits::HTTP2_FRAME_BYTES))
    }
}
