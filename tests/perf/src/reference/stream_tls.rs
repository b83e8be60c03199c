//! Highest rate of gRPC over TLS: one bidirectional stream, with the same windows and frames as ours.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use bytes::Bytes;
use futures_util::stream;
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio_rustls::server::TlsStream;
use tokio_rustls::{TlsAcceptor, TlsConnector};
use tonic::Request;
use tonic::client::Grpc;
use tonic::transport::server::Connected;
use tonic::transport::{Endpoint, Server};
use tonic_prost::ProstCodec;
use tower::service_fn;

use super::common::{IN_FLIGHT, payloads};
use super::messages::{Answer, Answering, Ask, many};
use super::tls;

const FRAME: u32 = 1 << 20;
const STREAM_WINDOW: u32 = 4 << 20;
const CONNECTION_WINDOW: u32 = 8 << 20;

/// The name of HTTP/2 in TLS.
const ALPN: &[u8] = b"h2";

/// Answers until it is killed.
pub(crate) async fn serve(listener: TcpListener, certificate: &Path, key: &Path) -> Result<()> {
    listener.set_nonblocking(true)?;
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let acceptor = TlsAcceptor::from(Arc::new(tls::server(certificate, key, ALPN)?));
    let incoming = stream::unfold((listener, acceptor), |(listener, acceptor)| async {
        let accepted = accept(&listener, &acceptor).await;
        Some((accepted, (listener, acceptor)))
    });
    let server = Server::builder()
        .max_frame_size(FRAME)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW);
    Ok(server.serve_with_incoming(Answering, incoming).await?)
}

/// Requests of `size` bytes per second.
pub(crate) async fn drive(address: SocketAddr, size: usize, seconds: f64, authority: &Path) -> Result<f64> {
    let payloads: Vec<Bytes> = payloads(size).into_iter().map(Bytes::from).collect();
    let (connector, name) =
        (TlsConnector::from(Arc::new(tls::client(authority, ALPN)?)), ServerName::try_from("localhost")?);
    let connect = service_fn(move |_| {
        let (connector, name) = (connector.clone(), name.clone());
        async move {
            let tcp = TcpStream::connect(address).await?;
            tcp.set_nodelay(true)?;
            connector.connect(name, tcp).await.map(TokioIo::new)
        }
    });
    let channel = Endpoint::from_shared(format!("http://{address}"))?
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .connect_with_connector(connect)
        .await?;
    let mut client = Grpc::new(channel);
    client.ready().await?;
    let room = Arc::new(Semaphore::new(IN_FLIGHT));
    let begin = Instant::now();
    let end = begin + Duration::from_secs_f64(seconds);
    let asking = Arc::clone(&room);
    let asks = stream::unfold(0_u64, move |id| {
        let (room, payload) = (Arc::clone(&asking), payloads[id as usize % payloads.len()].clone());
        async move {
            room.acquire().await.ok()?.forget();
            (Instant::now() < end).then_some((Ask { id, payload }, id + 1))
        }
    });
    let codec = ProstCodec::<Ask, Answer>::default();
    let mut answers = client.streaming(Request::new(asks), many(), codec).await?.into_inner();
    let (mut count, mut last) = (0_u64, begin);
    while let Some(answer) = answers.message().await? {
        ensure!(answer.id == count, "answer {} came where {count} was due", answer.id);
        room.add_permits(1);
        count += 1;
        last = Instant::now();
    }
    Ok(count as f64 / (last - begin).as_secs_f64())
}

async fn accept(listener: &tokio::net::TcpListener, acceptor: &TlsAcceptor) -> io::Result<Encrypted> {
    let (tcp, _) = listener.accept().await?;
    tcp.set_nodelay(true)?;
    acceptor.accept(tcp).await.map(Encrypted)
}

/// A connection as tonic's server takes it.
struct Encrypted(TlsStream<TcpStream>);

impl Connected for Encrypted {
    type ConnectInfo = ();

    fn connect_info(&self) {}
}

impl AsyncRead for Encrypted {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buf)
    }
}

impl AsyncWrite for Encrypted {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.0.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}
