//! Dispatch streams without HTTP around them: a plain TCP connection is one, a QUIC connection carries many.
//!
//! Both say by a first heartbeat that a stream was accepted (HTTP has its response for that), and by an End frame why
//! it was not. Control calls do not come this way.

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use lon_net::accept::GREETING_TIMEOUT;
use lon_net::flow::{Fill, Filled, Source};
use lon_net::framing::{Inbound, Outbound};
use lon_net::io::NetStream;
use lon_net::quic::{self, QuicSource};
use lon_net::tcp::{self, StreamSource};
use lon_proto::limits;
use quinn::{Connection, Endpoint, Incoming, RecvStream, SendStream};
use socket2::{SockRef, TcpKeepalive};
use tokio::io::ReadHalf;
use tokio::net::TcpStream;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;
use tonic::Status;

use crate::run::connections::Wire;
use crate::service::calls::Service;
use crate::stopped;

/// How long the last words on a TCP connection may be on their way.
const LINGER: Duration = Duration::from_secs(1);

/// Probes that a connection may leave unanswered, at most a third of the timeout each.
const KEEPALIVE_PROBES: u32 = 3;

/// Serves plain TCP connections as they come through the door. Returns when it is closed and all of them have ended.
pub(crate) async fn serve_tcp(service: Arc<Service>, mut door: mpsc::Receiver<NetStream>) {
    let mut streams = JoinSet::new();
    loop {
        tokio::select! {
            stream = door.recv() => match stream {
                Some(stream) => drop(streams.spawn(carry_tcp(Arc::clone(&service), stream))),
                None => break,
            },
            Some(_) = streams.join_next() => {}
        }
    }
    while streams.join_next().await.is_some() {}
}

async fn carry_tcp(service: Arc<Service>, stream: NetStream) {
    if let Err(error) = notice_death(stream.tcp()) {
        tracing::warn!("a client's death on a plain TCP connection would not be noticed: {error}");
    }
    let wire = Wire::Tcp(Arc::clone(stream.counters()));
    let (reading, mut writing) = tokio::io::split(stream);
    let (give_back, given_back) = oneshot::channel();
    let source = Lent { source: Some(StreamSource::new(reading)), give_back: Some(give_back) };
    let written = match service.open_stream(source, Some(wire)).await {
        Ok(output) => tcp::write(&mut writing, output.with_greeting(), None).await,
        Err(status) => tcp::write(&mut writing, Refusal(status), None).await,
    };
    match written {
        // To close on bytes that were not read is to reset, and a reset overtakes the last words.
        Ok(()) => drop(tokio::time::timeout(LINGER, read_away(given_back)).await),
        Err(error) => tracing::debug!("a TCP connection ended early: {error}"),
    }
}

/// A host that dies closes nothing, but its claim must lapse: it is asked for a sign of life when it is silent, and
/// given up when it acknowledges nothing.
fn notice_death(tcp: &TcpStream) -> io::Result<()> {
    let socket = SockRef::from(tcp);
    let probes = TcpKeepalive::new()
        .with_time(limits::KEEPALIVE_INTERVAL)
        .with_interval(limits::KEEPALIVE_TIMEOUT / KEEPALIVE_PROBES)
        .with_retries(KEEPALIVE_PROBES);
    socket.set_tcp_keepalive(&probes)?;
    // While bytes wait for their acknowledgement nothing is probed; left alone, the kernel tries for a quarter of an
    // hour.
    #[cfg(target_os = "linux")]
    socket.set_tcp_user_timeout(Some(limits::KEEPALIVE_INTERVAL + limits::KEEPALIVE_TIMEOUT))?;
    Ok(())
}

/// Reads and forgets until the client closes.
async fn read_away(given_back: oneshot::Receiver<StreamSource<ReadHalf<NetStream>>>) {
    let Ok(mut source) = given_back.await else { return };
    let mut inbound = Inbound::default();
    while let Ok(true) = std::future::poll_fn(|cx| source.poll_read(cx, &mut inbound)).await {
        inbound = Inbound::default();
    }
}

/// Comes back when its reader has done with it.
struct Lent {
    source: Option<StreamSource<ReadHalf<NetStream>>>,
    give_back: Option<oneshot::Sender<StreamSource<ReadHalf<NetStream>>>>,
}

impl Source for Lent {
    fn poll_read(&mut self, cx: &mut Context<'_>, into: &mut Inbound) -> Poll<Result<bool, Status>> {
        match &mut self.source {
            Some(source) => source.poll_read(cx, into),
            None => Poll::Ready(Ok(false)),
        }
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        if let (Some(source), Some(give_back)) = (self.source.take(), self.give_back.take()) {
            // Nobody waits for it when the connection is gone.
            let _ = give_back.send(source);
        }
    }
}

/// All that is said on a stream that is refused.
struct Refusal(Status);

impl Fill for Refusal {
    fn poll_fill(&mut self, _cx: &mut Context<'_>, _out: &mut Outbound) -> Poll<Filled> {
        Poll::Ready(Filled::End(Err(self.0.clone())))
    }
}

/// QUIC connections at one time; a LoadGen node needs as many as it was told to open, which is 256 at most.
const MAX_QUIC_CONNECTIONS: usize = 512;

/// Serves QUIC connections until `stop` turns true. Returns when what was begun on them has ended.
pub(crate) async fn serve_quic(service: Arc<Service>, endpoint: Endpoint, stop: watch::Receiver<bool>) {
    let mut connections = JoinSet::new();
    let mut stopping = pin!(stopped(stop.clone()));
    loop {
        tokio::select! {
            incoming = endpoint.accept() => match incoming {
                // Refused without a handshake, which would cost more than it does the caller.
                Some(incoming) if connections.len() >= MAX_QUIC_CONNECTIONS => incoming.refuse(),
                Some(incoming) => drop(connections.spawn(welcome(Arc::clone(&service), incoming, stop.clone()))),
                None => break,
            },
            Some(_) = connections.join_next() => {}
            () = &mut stopping => break,
        }
    }
    endpoint.set_server_config(None);
    while connections.join_next().await.is_some() {}
}

async fn welcome(service: Arc<Service>, incoming: Incoming, stop: watch::Receiver<bool>) {
    let peer = incoming.remote_address();
    match tokio::time::timeout(GREETING_TIMEOUT, incoming).await {
        Ok(Ok(connection)) => serve_connection(service, connection, stop).await,
        Ok(Err(error)) => tracing::info!("QUIC connection from {peer} refused: {error}"),
        Err(_) => tracing::debug!("QUIC connection from {peer}: no handshake within {GREETING_TIMEOUT:?}"),
    }
}

async fn serve_connection(service: Arc<Service>, connection: Connection, stop: watch::Receiver<bool>) {
    let mut streams = JoinSet::new();
    let mut stopping = pin!(stopped(stop));
    loop {
        tokio::select! {
            opened = connection.accept_bi() => match opened {
                Ok((sending, reading)) => {
                    let wire = Wire::Quic(connection.clone());
                    streams.spawn(carry_quic(Arc::clone(&service), wire, sending, reading));
                }
                // Closed by the client, or lost: its streams know it, too.
                Err(_) => break,
            },
            Some(_) = streams.join_next() => {}
            () = &mut stopping => break,
        }
    }
    while streams.join_next().await.is_some() {}
}

async fn carry_quic(service: Arc<Service>, wire: Wire, mut sending: SendStream, reading: RecvStream) {
    let written = match service.open_stream(QuicSource::new(reading), Some(wire)).await {
        Ok(output) => quic::write(&mut sending, output.with_greeting(), None).await,
        Err(status) => quic::write(&mut sending, Refusal(status), None).await,
    };
    if let Err(error) = written {
        tracing::debug!("a QUIC stream ended early: {error}");
    }
}
