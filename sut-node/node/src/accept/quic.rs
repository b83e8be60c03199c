//! QUIC: a connection carries many Dispatch streams, one on each of its bidirectional streams.
//!
//! A first heartbeat says that a stream was accepted, an End frame why it was not, as on plain TCP. QUIC stays on the
//! first I/O thread.

use std::net::UdpSocket;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use lon_net::accept::GREETING_TIMEOUT;
use lon_net::path::Path;
use lon_net::quic::{self, QuicSource};
use lon_net::throwaway::Throwaway;
use lon_net::tls::ServerTls;
use quinn::{Endpoint, Incoming, RecvStream, SendStream, VarInt};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;

use super::acceptor::{Acceptor, Closing, Serving, Streams};
use super::open_connection::OpenConnection;
use super::open_connections::OpenConnections;
use crate::error::{ServeError, os};
use crate::run::connections::{Connection, SocketTraffic};

/// The most handshakes at one time with clients that have not shown that they can receive at the address they send
/// from. Further ones are told to show it first, which costs them a round trip and the node nothing to remember.
const MAX_UNPROVEN: usize = 32;

/// Time that connections get for the last packets when the node ends.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(200);

/// The QUIC endpoint of a node.
pub(crate) struct Quic {
    endpoint: Endpoint,
    open_connections: OpenConnections,
}

impl Quic {
    /// An endpoint on this socket. Must be made on a runtime, which drives it from here on. Without `tls` it shows a
    /// certificate that nobody can verify, since QUIC knows no plain text. Its connections join
    /// `open_connections`.
    ///
    /// # Errors
    /// The socket or the certificate cannot be used.
    pub(crate) fn open(
        socket: UdpSocket,
        tls: Option<&ServerTls>,
        open_connections: OpenConnections,
    ) -> Result<Quic, ServeError> {
        let tls = match tls {
            Some(tls) => tls.clone(),
            None => Throwaway::new(&["localhost"])?.server()?,
        };
        let endpoint = quic::server_endpoint(socket, &tls).map_err(os("cannot serve QUIC"))?;
        Ok(Quic { endpoint, open_connections })
    }
}

impl Acceptor for Quic {
    fn serve(self: Box<Self>, streams: Streams) -> Serving {
        Box::pin(async move {
            let mut connections = JoinSet::new();
            let mut stopping = pin!(streams.stopped());
            let unproven = Arc::new(Semaphore::new(MAX_UNPROVEN));
            loop {
                tokio::select! {
                    biased;
                    () = &mut stopping => break,
                    Some(_) = connections.join_next() => {}
                    incoming = self.endpoint.accept() => match incoming {
                        Some(incoming) => {
                            if let Some((incoming, entry, unproven)) = self.admit(incoming, &unproven) {
                                connections.spawn(connect(streams.clone(), incoming, entry, unproven));
                            }
                        }
                        None => break,
                    },
                }
            }
            self.endpoint.set_server_config(None);
            while connections.join_next().await.is_some() {}
            Ok(())
        })
    }

    /// Closes all connections, and gives the last packets a moment to leave.
    fn closing(&self) -> Closing {
        let endpoint = self.endpoint.clone();
        Box::pin(async move {
            endpoint.close(VarInt::from_u32(0), b"");
            let _ = tokio::time::timeout(CLOSE_TIMEOUT, endpoint.wait_idle()).await;
        })
    }
}

/// A client's place among those that have not shown that they can receive; `None` for those that have.
type Unproven = Option<OwnedSemaphorePermit>;

impl Quic {
    /// Takes a client in, or answers it so that nothing of it has to be remembered.
    fn admit(&self, incoming: Incoming, unproven: &Arc<Semaphore>) -> Option<(Incoming, OpenConnection, Unproven)> {
        let mut place = None;
        if incoming.may_retry() {
            place = Arc::clone(unproven).try_acquire_owned().ok();
            if place.is_none() {
                // It cannot fail where it was asked for.
                let _ = incoming.retry();
                return None;
            }
        }
        match self.open_connections.enter(incoming.remote_address().ip()) {
            Some(entry) => Some((incoming, entry, place)),
            None => {
                incoming.refuse();
                None
            }
        }
    }
}

/// Makes the handshake with one client and serves its connection, until it ends or has to leave.
async fn connect(streams: Streams, incoming: Incoming, entry: OpenConnection, unproven: Unproven) {
    let client = incoming.remote_address();
    let served = entry.serve(async {
        match tokio::time::timeout(GREETING_TIMEOUT, incoming).await {
            Ok(Ok(connection)) => {
                drop(unproven);
                serve_connection(streams, connection, &entry).await;
            }
            Ok(Err(error)) => tracing::info!(%client, %error, "a client was refused"),
            Err(_) => {
                let limit_ms = GREETING_TIMEOUT.as_millis() as u64;
                tracing::debug!(%client, limit_ms, "QUIC connection without a handshake");
            }
        }
    });
    if let Err(why) = served.await {
        tracing::debug!(%client, %why, "QUIC connection closed");
    }
}

async fn serve_connection(streams: Streams, connection: quinn::Connection, entry: &OpenConnection) {
    let counted: Arc<dyn Connection> = Arc::new(Counted(connection.clone()));
    let mut carried = JoinSet::new();
    let mut stopping = pin!(streams.stopped());
    loop {
        tokio::select! {
            biased;
            () = &mut stopping => break,
            Some(_) = carried.join_next() => {}
            opened = connection.accept_bi() => match opened {
                Ok((sending, reading)) => {
                    let of = (connection.clone(), entry.clone(), Arc::clone(&counted));
                    carried.spawn(carry(streams.clone(), of, sending, reading));
                }
                // The client closed the connection, or the connection was lost: its streams notice that, too.
                Err(_) => break,
            },
        }
    }
    while carried.join_next().await.is_some() {}
}

/// Carrier of a stream: the QUIC connection, its `OpenConnection`, and its counters.
type Carrier = (quinn::Connection, OpenConnection, Arc<dyn Connection>);

/// Carries one stream to its end.
async fn carry(streams: Streams, of: Carrier, mut sending: SendStream, reading: RecvStream) {
    let (connection, entry, counted) = of;
    let answers = streams.open_for(&entry, QuicSource::new(reading), counted).await;
    if !entry.is_stranger() {
        quic::welcome(&connection);
    }
    drop((connection, entry));
    if let Err(error) = quic::write(&mut sending, answers, None).await {
        tracing::debug!(%error, "a QUIC stream ended early");
    }
}

/// A connection, asked for its counters: payloads of UDP, and packets that were lost and sent again.
#[derive(Debug)]
struct Counted(quinn::Connection);

impl Connection for Counted {
    fn traffic(&self) -> SocketTraffic {
        let statistics = quic::statistics(&self.0);
        SocketTraffic {
            bytes_in: statistics.bytes_read,
            bytes_out: statistics.bytes_written,
            retransmits: Some(statistics.packets_lost),
        }
    }

    fn path(&self) -> Option<Path> {
        Some(quic::path(&self.0))
    }
}
