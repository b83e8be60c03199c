//! Plain TCP, or TLS over it: one connection is one Dispatch stream, without HTTP around it.
//!
//! A first heartbeat says that the stream was accepted (HTTP has its response for that), an End frame why it was not.

use std::io;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use lon_net::flow::Source;
use lon_net::framing::Inbound;
use lon_net::io::NetStream;
use lon_net::tcp::{self, StreamSource};
use lon_proto::limits;
use socket2::{SockRef, TcpKeepalive};
use tokio::io::ReadHalf;
use tokio::net::TcpStream;
use tokio::sync::{mpsc, oneshot};
use tonic::Status;

use super::acceptor::{Acceptor, Serving, Streams};
use super::listener::{Visit, serve_each};
use super::open_connection::OpenConnection;
use super::read_limit::Rationed;
use crate::run::connections::Connection;

/// Time that the last messages on a connection may be on their way before the node closes it.
const LINGER: Duration = Duration::from_secs(1);

/// Number of probes that a connection may leave unanswered; each takes a third of the timeout at most.
const KEEPALIVE_PROBES: u32 = 3;

/// The plain TCP connections of one I/O thread.
pub(crate) struct Tcp {
    /// Connections that begin with our magic; it has been read.
    incoming: mpsc::Receiver<Visit>,
}

impl Tcp {
    /// Serves what comes in through `incoming`.
    pub(crate) fn new(incoming: mpsc::Receiver<Visit>) -> Tcp {
        Tcp { incoming }
    }
}

impl Acceptor for Tcp {
    fn serve(self: Box<Self>, streams: Streams) -> Serving {
        Box::pin(async move {
            serve_each(self.incoming, |visit| serve(streams.clone(), visit)).await;
            Ok(())
        })
    }
}

/// Serves one connection to its end.
async fn serve(streams: Streams, Visit { stream, entry }: Visit) {
    if let Err(why) = entry.serve(carry(streams, stream, &entry)).await {
        tracing::debug!(%why, "a TCP connection was closed");
    }
}

/// Carries the one stream of a connection to its end.
async fn carry(streams: Streams, stream: NetStream, entry: &OpenConnection) {
    if let Some(tcp) = stream.socket().tcp()
        && let Err(error) = notice_death(tcp)
    {
        tracing::warn!(%error, "a client's death on a plain TCP connection would not be noticed");
    }
    let connection = Arc::clone(stream.counters()) as Arc<dyn Connection>;
    let (reading, mut writing) = tokio::io::split(Rationed::new(stream, entry.clone()));
    let (give_back, given_back) = oneshot::channel();
    let source = Lent { source: Some(StreamSource::new(reading)), give_back: Some(give_back) };
    let answers = streams.open_for(entry, source, connection).await;
    match tcp::write(&mut writing, answers, None).await {
        // Closing a socket with unread bytes resets it, and a reset overtakes the last messages.
        Ok(()) => drop(tokio::time::timeout(LINGER, read_away(given_back)).await),
        Err(error) => tracing::debug!(%error, "a TCP connection ended early"),
    }
}

/// Has the kernel notice a client whose host died. Such a host closes nothing, but its claim must lapse: it is probed
/// when it is silent, and given up when it acknowledges nothing.
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
async fn read_away(given_back: oneshot::Receiver<StreamSource<ReadHalf<Rationed>>>) {
    let Ok(mut source) = given_back.await else { return };
    let mut inbound = Inbound::default();
    while let Ok(true) = std::future::poll_fn(|cx| source.poll_read(cx, &mut inbound)).await {
        inbound = Inbound::default();
    }
}

/// The reading half of a connection, which comes back when its reader has done with it.
struct Lent {
    source: Option<StreamSource<ReadHalf<Rationed>>>,
    give_back: Option<oneshot::Sender<StreamSource<ReadHalf<Rationed>>>>,
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
            // The send fails when the connection is gone: then no task waits for the source.
            let _ = give_back.send(source);
        }
    }
}
