//! What gRPC carries over TLS at most: one bidirectional stream, with the windows and frames that ours has.

use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use bytes::Bytes;
use futures_util::stream;
use tokio::sync::Semaphore;
use tonic::Request;
use tonic::client::Grpc;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Certificate, ClientTlsConfig, Endpoint, Identity, Server, ServerTlsConfig};
use tonic_prost::ProstCodec;

use super::common::{IN_FLIGHT, payloads};
use super::messages::{Answer, Answering, Ask, many};

const FRAME: u32 = 1 << 20;
const STREAM_WINDOW: u32 = 4 << 20;
const CONNECTION_WINDOW: u32 = 8 << 20;

/// Answers until it is killed.
pub(crate) async fn serve(listener: TcpListener, certificate: &Path, key: &Path) -> Result<()> {
    listener.set_nonblocking(true)?;
    let incoming = TcpIncoming::from(tokio::net::TcpListener::from_std(listener)?).with_nodelay(Some(true));
    let identity = Identity::from_pem(std::fs::read(certificate)?, std::fs::read(key)?);
    let mut server = Server::builder()
        .tls_config(ServerTlsConfig::new().identity(identity))?
        .max_frame_size(FRAME)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW);
    Ok(server.add_service(Answering).serve_with_incoming(incoming).await?)
}

/// Requests of `size` bytes per second.
pub(crate) async fn drive(address: SocketAddr, size: usize, seconds: f64, authority: &Path) -> Result<f64> {
    let payloads: Vec<Bytes> = payloads(size).into_iter().map(Bytes::from).collect();
    let authority = Certificate::from_pem(std::fs::read(authority)?);
    let channel = Endpoint::from_shared(format!("https://{address}"))?
        .tls_config(ClientTlsConfig::new().ca_certificate(authority).domain_name("localhost"))?
        .tcp_nodelay(true)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .connect()
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
