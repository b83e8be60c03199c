//! QUIC: a connection carries many Dispatch streams, one on each of its bidirectional streams.
//!
//! A first heartbeat says that a stream was accepted, an End frame why it was not, as on plain TCP. QUIC stays on the
//! first I/O thread.

use std::net::UdpSocket;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use lon_net::accept::GREETING_TIMEOUT;
use lon_net::quic::{self, QuicSource};
use lon_net::throwaway::Throwaway;
use lon_net::tls::ServerTls;
use quinn::{Endpoint, Incoming, RecvStream, SendStream, VarInt};
use tokio::task::JoinSet;

use super::transport::{Closing, Serving, Streams, Transport};
use crate::error::{ServeError, os};
use crate::run::connections::{Connection, SocketTraffic};

/// The most QUIC connections at one time. A LoadGen node makes as many as it was told to, which is 256 at most.
const MAX_CONNECTIONS: usize = 512;

/// How long connections get for the last packets when the node ends.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(200);

/// The QUIC endpoint of a node.
pub(crate) struct Quic {
    endpoint: Endpoint,
}

impl Quic {
    /// An endpoint on this socket. Must be made on a runtime, which drives it from here on. Without `tls` it shows a
    /// certificate that nobody can verify, since QUIC knows no plain text.
    ///
    /// # Errors
    /// The socket or the certificate cannot be used.
    pub(crate) fn open(socket: UdpSocket, tls: Option<&ServerTls>) -> Result<Quic, ServeError> {
        let tls = match tls {
            Some(tls) => tls.clone(),
            None => Throwaway::new(&["localhost"])?.server()?,
        };
        let endpoint = quic::server_endpoint(socket, &tls).map_err(os("cannot serve QUIC"))?;
        Ok(Quic { endpoint })
    }
}

impl Transport for Quic {
    fn serve(self: Box<Self>, streams: Streams) -> Serving {
        Box::pin(async move {
            let mut connections = JoinSet::new();
            let mut stopping = pin!(streams.stopped());
            loop {
                tokio::select! {
                    incoming = self.endpoint.accept() => match incoming {
                        // Refused without a handshake, which would cost the node more than the client.
                        Some(incoming) if connections.len() >= MAX_CONNECTIONS => incoming.refuse(),
                        Some(incoming) => drop(connections.spawn(connect(streams.clone(), incoming))),
                        None => break,
                    },
                    Some(_) = connections.join_next() => {}
                    () = &mut stopping => break,
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

/// Makes the handshake with one client and serves its connection.
async fn connect(streams: Streams, incoming: Incoming) {
    let client = incoming.remote_address();
    match tokio::time::timeout(GREETING_TIMEOUT, incoming).await {
        Ok(Ok(connection)) => serve_connection(streams, connection).await,
        Ok(Err(error)) => tracing::info!("QUIC connection from {client} refused: {error}"),
        Err(_) => tracing::debug!("QUIC connection from {client}: no handshake within {GREETING_TIMEOUT:?}"),
    }
}

async fn serve_connection(streams: Streams, connection: quinn::Connection) {
    let counted: Arc<dyn Connection> = Arc::new(Counted(connection.clone()));
    let mut carried = JoinSet::new();
    let mut stopping = pin!(streams.stopped());
    loop {
        tokio::select! {
            opened = connection.accept_bi() => match opened {
                Ok((sending, reading)) => {
                    carried.spawn(carry(streams.clone(), Arc::clone(&counted), sending, reading));
                }
                // Closed by the client, or lost: its streams notice that, too.
                Err(_) => break,
            },
            Some(_) = carried.join_next() => {}
            () = &mut stopping => break,
        }
    }
    while carried.join_next().await.is_some() {}
}

/// Carries one stream to its end.
async fn carry(streams: Streams, counted: Arc<dyn Connection>, mut sending: SendStream, reading: RecvStream) {
    let answers = streams.open(QuicSource::new(reading), counted).await;
    if let Err(error) = quic::write(&mut sending, answers, None).await {
        tracing::debug!("a QUIC stream ended early: {error}");
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
}
