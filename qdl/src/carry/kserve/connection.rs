//! One connection to a server: the calls that have begun on it, and how it ends.

use std::collections::HashMap;
use std::future::Future as _;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::Stream as _;
use futures_util::stream::FuturesUnordered;
use h2::Reason;
use h2::client::{Builder, Connection, SendRequest};
use lon_net::flow::Departures;
use lon_net::io::NetStream;
use lon_net::meter::MeteredIo;
use lon_net::tls::Protocol;
use lon_proto::limits;
use socket2::{SockRef, TcpKeepalive};
use tonic::codegen::http::Request;

use super::super::endpoint::Endpoint;
use super::call::{Call, Ended};
use super::frame::Frames;
use crate::dispatch::{Lane, Taken};
use crate::error::explain;
use crate::types::NodeFailure;

/// After this long without traffic the kernel asks whether the server's host is there. The protocol has no heartbeat,
/// and servers take HTTP/2's pings for abuse.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(2);
/// The kernel gives the connection up after this many questions without an answer.
const KEEPALIVE_RETRIES: u32 = 4;

/// Calls on one connection at most: numbers of HTTP/2 streams have 31 bits.
const MAX_CALLS: u32 = 1 << 29;

/// Makes connections for one lane.
#[derive(Clone)]
pub(super) struct Dialler {
    pub(super) endpoint: Endpoint,
    pub(super) lane: Arc<Lane>,
    pub(super) timeout: Duration,
}

impl Dialler {
    /// Connects, within the timeout.
    pub(super) async fn dial(self) -> Result<CallConnection, NodeFailure> {
        let late = |_| Err(NodeFailure::Connection(format!("no connection within {:?}", self.timeout)));
        tokio::time::timeout(self.timeout, self.connect()).await.unwrap_or_else(late)
    }

    async fn connect(&self) -> Result<CallConnection, NodeFailure> {
        let failed = |error: io::Error| NodeFailure::Connection(explain(&error));
        let io = self.endpoint.dial(Protocol::Grpc).await.map_err(failed)?;
        let keepalive = TcpKeepalive::new().with_time(KEEPALIVE_IDLE).with_interval(KEEPALIVE_IDLE);
        let keepalive = keepalive.with_retries(KEEPALIVE_RETRIES);
        if let Some(tcp) = io.socket().tcp() {
            SockRef::from(tcp).set_tcp_keepalive(&keepalive).map_err(failed)?;
        }
        let departed = Arc::new(Departed { lane: Arc::clone(&self.lane), streams: Mutex::default() });
        let io = MeteredIo::new(io, Arc::clone(&departed));
        let shaken = Builder::new()
            .initial_window_size(limits::HTTP2_STREAM_WINDOW_BYTES)
            .initial_connection_window_size(limits::HTTP2_CONNECTION_WINDOW_BYTES)
            .max_frame_size(limits::HTTP2_FRAME_BYTES)
            .enable_push(false)
            .handshake(io)
            .await;
        let (send, connection) = shaken.map_err(|error| NodeFailure::Connection(explain(&error)))?;
        let calls = FuturesUnordered::new();
        Ok(CallConnection { send: Some(send), connection, departed, calls, call_count: 0, over: None, refused: None })
    }
}

/// A connection that carries calls.
pub(super) struct CallConnection {
    /// `None` once no more calls may begin.
    send: Option<SendRequest<Bytes>>,
    connection: Connection<MeteredIo<NetStream, Departed>, Bytes>,
    departed: Arc<Departed>,
    calls: FuturesUnordered<Call>,
    call_count: u32,
    /// Outcome of the connection; `None` while it is open.
    over: Option<Result<(), h2::Error>>,
    /// Why a call could not begin.
    refused: Option<h2::Error>,
}

/// Readiness of the connection for another call.
#[derive(Debug)]
pub(super) enum Readiness {
    /// A call may begin now.
    Ready,
    /// Not now: the server has as many calls as it takes at once.
    Full,
    /// Not on this connection: the server has asked for another one, or its numbers of streams are used up.
    Leaving,
    /// The connection has failed.
    Broken(NodeFailure),
}

impl CallConnection {
    /// Writes and reads, and adds the calls that have ended to `ended`.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>, ended: &mut Vec<Ended>) {
        if self.over.is_none()
            && let Poll::Ready(over) = Pin::new(&mut self.connection).poll(cx)
        {
            self.over = Some(over);
        }
        while let Poll::Ready(Some(call)) = Pin::new(&mut self.calls).poll_next(cx) {
            self.departed.streams().remove(&call.stream);
            ended.push(call);
        }
    }

    pub(super) fn readiness(&mut self, cx: &mut Context<'_>) -> Readiness {
        let Some(send) = &mut self.send else { return Readiness::Leaving };
        let ready = match self.refused.take() {
            Some(error) => Poll::Ready(Err(error)),
            None => send.poll_ready(cx),
        };
        match ready {
            Poll::Ready(Err(error)) if asks_to_leave(&error) => Readiness::Leaving,
            Poll::Ready(Err(error)) => Readiness::Broken(self.broken(Some(&error))),
            _ if self.over.is_some() => Readiness::Broken(self.broken(None)),
            _ if self.call_count >= MAX_CALLS => Readiness::Leaving,
            Poll::Ready(Ok(())) => Readiness::Ready,
            Poll::Pending => Readiness::Full,
        }
    }

    /// Begins a call.
    ///
    /// # Errors
    /// The sample comes back when the call cannot begin; [`CallConnection::readiness`] then says why.
    pub(super) fn begin(&mut self, head: &Request<()>, frames: &mut Frames, taken: Taken) -> Result<(), Taken> {
        let Some(send) = &mut self.send else { return Err(taken) };
        let (response, mut stream) = match send.send_request(head.clone(), false) {
            Ok(call) => call,
            Err(error) => {
                self.refused = Some(error);
                return Err(taken);
            }
        };
        let (first, second) = frames.request(taken.wire_id, &taken.payload);
        self.call_count += 1;
        self.departed.streams().insert(response.stream_id().as_u32(), taken.wire_id);
        // An error from here on is also the response's.
        let _ = stream.send_data(first, second.is_none());
        if let Some(second) = second {
            let _ = stream.send_data(second, true);
        }
        self.calls.push(Call::new(taken.wire_id, taken.payload, response, self.departed.lane.expected()));
        Ok(())
    }

    /// No more calls begin here. The connection ends when those that have begun have ended.
    pub(super) fn leave(&mut self) {
        self.send = None;
    }

    /// Drops the calls under way: their answers are not wanted any more.
    pub(super) fn forget_calls(&mut self) {
        self.calls.clear();
    }

    pub(super) fn is_over(&self) -> bool {
        self.over.is_some()
    }

    /// Why the connection has failed; `first_error` is an error that was met before the connection's own.
    pub(super) fn broken(&self, first_error: Option<&h2::Error>) -> NodeFailure {
        let error = self.over.as_ref().and_then(|over| over.as_ref().err()).or(first_error);
        NodeFailure::Connection(match error {
            // h2 reports a broken pipe when the server has closed without a reason.
            Some(error) if error.get_io().is_none_or(|io| io.kind() != io::ErrorKind::BrokenPipe) => explain(error),
            _ => "the server closed it in the middle of the run".to_owned(),
        })
    }
}

/// The server asks for another connection, as servers do before they stop or to spread their load.
fn asks_to_leave(error: &h2::Error) -> bool {
    error.is_go_away() && error.is_remote() && error.reason() == Some(Reason::NO_ERROR)
}

/// The call that each HTTP/2 stream of a connection carries, until the request's last byte has left.
struct Departed {
    lane: Arc<Lane>,
    streams: Mutex<HashMap<u32, u64>>,
}

impl Departed {
    fn streams(&self) -> MutexGuard<'_, HashMap<u32, u64>> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Departures for Departed {
    fn departed(&self, _total: u64, _at: Instant) {}

    fn stream_departed(&self, stream: u32, at: Instant) {
        let wire_id = self.streams().remove(&stream);
        if let Some(wire_id) = wire_id {
            self.lane.departed_call(wire_id, at);
        }
    }
}
