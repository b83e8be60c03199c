//! QUIC: one connection to a node, one bidirectional stream of it to a lane.
//!
//! A stream carries the same as plain TCP, without the magic (ALPN names the protocol): its first message is Open, its
//! last frame an End. The node sees a client's stream once something was written to it. A large sample on one stream
//! does not block a small one on another. All streams of a connection share one congestion window and one thread's
//! cryptography, and the latter limits QUIC's speed.
//!
//! Segmentation offload is on (quinn's default). Datagrams grow as path discovery allows, up to Ethernet's size: larger
//! ones (jumbo frames) were measured to be slower, and to hang from 16 KB on.
//!
//! - `socket`: the UDP socket with its counters; `stream`: writing and reading one stream;
//! - `alert`: the TLS alerts that have an advice of their own.

mod socket;
mod stream;

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use lon_proto::limits::{HTTP2_CONNECTION_WINDOW_BYTES, HTTP2_STREAM_WINDOW_BYTES};
use quinn::crypto::rustls::{NoInitialCipherSuite, QuicClientConfig, QuicServerConfig};
use quinn::{
    ClientConfig, ConnectError, Connection, ConnectionError, Endpoint, EndpointConfig, ServerConfig, TokioRuntime,
    TransportConfig, TransportErrorCode, VarInt,
};

use crate::io::own_shortage;
use crate::lookup::Lookup;
use crate::path::Path;
use crate::tls::{ClientTls, OF_CA, Protocol, ServerTls, Unverified, host_of, server_name};
pub use socket::{UdpBuffers, enlarge_buffers};
pub use stream::{QuicSource, write};

/// The most lanes that a client may open on one connection.
const MAX_STREAMS: u32 = 1024;

/// The flow-control window of a stream, as large as HTTP/2's. A stream that nobody reads takes no more than this of the
/// connection's window.
const STREAM_WINDOW_BYTES: u32 = HTTP2_STREAM_WINDOW_BYTES;

/// The flow-control window of a connection: many times a stream's, so that streams that nobody reads do not stop the
/// others.
const CONNECTION_WINDOW_BYTES: u32 = 4 * HTTP2_CONNECTION_WINDOW_BYTES;

/// The interval at which a connection without traffic sends a sign of life.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(5);

/// The time after which a connection without any traffic ends, ms. Heartbeats notice sooner that a node is gone; this
/// limit only frees what is left.
const IDLE_TIMEOUT_MILLIS: u32 = 30_000;

/// The longest time to send the end of a connection.
const FAREWELL: Duration = Duration::from_secs(1);

/// The limits of a client that has not said which run it belongs to: the streams, and the bytes, that a node lets it
/// send.
const STRANGERS_STREAMS: u32 = 4;
const STRANGERS_WINDOW_BYTES: u32 = 16 << 10;

/// The most clients whose first packets a node keeps until it has looked at them, and the bytes of all their packets.
const MAX_WAITING: usize = 256;
const MAX_WAITING_BYTES: u64 = 1 << 20;

/// The transport settings of a client, and those of a node towards a client that it knows.
pub fn transport_config() -> TransportConfig {
    let mut transport = TransportConfig::default();
    transport
        .max_concurrent_bidi_streams(VarInt::from_u32(MAX_STREAMS))
        .max_concurrent_uni_streams(VarInt::from_u32(0))
        .datagram_receive_buffer_size(None)
        .stream_receive_window(VarInt::from_u32(STREAM_WINDOW_BYTES))
        .receive_window(VarInt::from_u32(CONNECTION_WINDOW_BYTES))
        .send_window(u64::from(CONNECTION_WINDOW_BYTES))
        .keep_alive_interval(Some(KEEPALIVE_INTERVAL))
        .max_idle_timeout(Some(VarInt::from_u32(IDLE_TIMEOUT_MILLIS).into()));
    transport
}

/// Which node a client accepts.
#[derive(Clone, Copy, Debug)]
pub enum Trust<'a> {
    /// A node with a certificate of the right CA.
    Verified(&'a ClientTls),
    /// Any node that answers; its certificate is not verified.
    Anyone(&'a Unverified),
}

/// The configuration of a client. It is cheap to clone.
///
/// # Errors
/// There are none with the ciphers that `tls` sets up.
pub fn client_config(trust: Trust<'_>) -> io::Result<ClientConfig> {
    let tls = match trust {
        Trust::Verified(tls) => tls.config(Protocol::Tcp),
        Trust::Anyone(tls) => tls.config(),
    };
    let crypto = QuicClientConfig::try_from(tls).map_err(no_cipher)?;
    let mut config = ClientConfig::new(Arc::new(crypto));
    config.transport_config(Arc::new(transport_config()));
    Ok(config)
}

/// The configuration of a node. A client may send little until it is [welcome](welcome()).
///
/// # Errors
/// There are none with the ciphers that `tls` sets up.
pub fn server_config(tls: &ServerTls) -> io::Result<ServerConfig> {
    let crypto = QuicServerConfig::try_from(tls.quic()).map_err(no_cipher)?;
    let mut transport = transport_config();
    transport
        .max_concurrent_bidi_streams(VarInt::from_u32(STRANGERS_STREAMS))
        .receive_window(VarInt::from_u32(STRANGERS_WINDOW_BYTES));
    let mut config = ServerConfig::with_crypto(Arc::new(crypto));
    config
        .transport_config(Arc::new(transport))
        .max_incoming(MAX_WAITING)
        .incoming_buffer_size(MAX_WAITING_BYTES)
        .incoming_buffer_size_total(MAX_WAITING_BYTES);
    Ok(config)
}

/// Lets the client of a run open streams and send as far as the transport goes. A node lets others do very little.
pub fn welcome(connection: &Connection) {
    connection.set_max_concurrent_bi_streams(VarInt::from_u32(MAX_STREAMS));
    connection.set_receive_window(VarInt::from_u32(CONNECTION_WINDOW_BYTES));
}

fn no_cipher(error: NoInitialCipherSuite) -> io::Error {
    io::Error::other(error)
}

/// Serves on `socket`, whose buffers are enlarged. Connections are driven by tasks of the runtime this is called on.
///
/// # Errors
/// The operating system refuses it, or there is no runtime.
pub fn server_endpoint(socket: UdpSocket, tls: &ServerTls) -> io::Result<Endpoint> {
    endpoint(socket, Some(server_config(tls)?))
}

/// A socket to reach `remote` from, with enlarged buffers.
///
/// # Errors
/// The operating system refuses it, or there is no runtime.
pub fn client_endpoint(remote: SocketAddr) -> io::Result<Endpoint> {
    let local = match remote {
        SocketAddr::V4(_) => SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
        SocketAddr::V6(_) => SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0)),
    };
    endpoint(UdpSocket::bind(local)?, None)
}

fn endpoint(socket: UdpSocket, server: Option<ServerConfig>) -> io::Result<Endpoint> {
    enlarge_buffers(&socket);
    Endpoint::new(EndpointConfig::default(), server, socket, Arc::new(TokioRuntime))
}

/// A client's connection, on a socket of its own.
#[derive(Clone, Debug)]
pub struct Link {
    /// The connection's socket, with its counters.
    pub endpoint: Endpoint,
    /// The connection on which lanes are opened.
    pub connection: Connection,
}

impl Link {
    /// Closes the connection, and waits until the node was told so (a second at most: the node may be gone).
    pub async fn close(self) {
        self.connection.close(VarInt::from_u32(0), b"");
        let _ = tokio::time::timeout(FAREWELL, self.endpoint.wait_idle()).await;
    }
}

/// Looks `HOST:PORT` up and connects as [`connect_at`] does. An address where nothing answers is given up after the
/// connection's idle time (30 s).
///
/// # Errors
/// There is no such host, and those of [`connect_at`].
pub async fn connect(host_and_port: &str, config: &ClientConfig) -> io::Result<Link> {
    let addresses = Lookup::anywhere().find(host_and_port).await?;
    connect_at(host_and_port, &addresses, config, Duration::from_millis(IDLE_TIMEOUT_MILLIS.into())).await
}

/// Connects to `HOST:PORT` (or `[ADDRESS]:PORT`) at these addresses of it in turn, each for `patience` at most.
///
/// A node that misses a client's certificate says so only afterwards, by closing the connection.
///
/// # Errors
/// No connection at any of the addresses, or a certificate is refused. Each error names the host and what to do.
pub async fn connect_at(
    host_and_port: &str,
    addresses: &[SocketAddr],
    config: &ClientConfig,
    patience: Duration,
) -> io::Result<Link> {
    let host = host_of(host_and_port)?;
    let name = server_name(host)?.to_str().into_owned();
    let named = |why: io::Error| {
        let shortage = own_shortage(&why).unwrap_or_default();
        io::Error::new(why.kind(), format!("cannot connect to {host_and_port} (QUIC): {why}{shortage}"))
    };
    connect_to_any(addresses.iter().copied(), &name, config, patience).await.map_err(named)
}

async fn connect_to_any(
    addresses: impl Iterator<Item = SocketAddr>,
    name: &str,
    config: &ClientConfig,
    patience: Duration,
) -> io::Result<Link> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in addresses {
        match tokio::time::timeout(patience, connect_to(address, name, config)).await {
            Ok(Ok(link)) => return Ok(link),
            Ok(Err(error)) => last = error,
            Err(_) => {
                let why = format!("no answer from {address} within {patience:?}{NOTHING_ANSWERS}");
                last = io::Error::new(io::ErrorKind::TimedOut, why);
            }
        }
    }
    Err(last)
}

async fn connect_to(address: SocketAddr, name: &str, config: &ClientConfig) -> io::Result<Link> {
    let endpoint = client_endpoint(address)?;
    let unusable = |error: ConnectError| io::Error::new(io::ErrorKind::InvalidInput, error.to_string());
    let connecting = endpoint.connect_with(config.clone(), address, name).map_err(unusable)?;
    match connecting.await {
        Ok(connection) => Ok(Link { endpoint, connection }),
        Err(error) => {
            let why = explained(&error);
            Err(io::Error::new(io::Error::from(error).kind(), why))
        }
    }
}

/// The error for a connection that takes too long.
const NOTHING_ANSWERS: &str = "; nothing answers there over UDP: a firewall, or a node that does not serve QUIC";

/// The error codes that QUIC makes of TLS alerts.
mod alert {
    pub(super) const UNKNOWN_CA: u8 = 48;
    pub(super) const DECRYPT_ERROR: u8 = 51;
    pub(super) const CERTIFICATE_REQUIRED: u8 = 116;
    pub(super) const NO_APPLICATION_PROTOCOL: u8 = 120;
}

/// Why a connection ended, and what to do about it.
pub(crate) fn explained(error: &ConnectionError) -> String {
    let advice = match error {
        ConnectionError::TransportError(ours) if is(ours.code, &[alert::UNKNOWN_CA, alert::DECRYPT_ERROR]) => {
            "; --tls-ca must be the CA that signed this node's certificate"
        }
        ConnectionError::TransportError(ours) if ours.reason.contains("not valid for name") => {
            "; dial the node by a name in its certificate, or have this one put into it"
        }
        // The certificate's own error is not handed on, but for its words.
        ConnectionError::TransportError(ours) if ours.reason.contains("CaUsedAsEndEntity") => OF_CA,
        ConnectionError::ConnectionClosed(theirs) if is(theirs.error_code, &[alert::CERTIFICATE_REQUIRED]) => {
            "; the node asks clients for a certificate: --tls-cert and --tls-key"
        }
        ConnectionError::ConnectionClosed(theirs)
            if is(theirs.error_code, &[alert::UNKNOWN_CA, alert::DECRYPT_ERROR]) =>
        {
            "; the node does not accept this client's --tls-cert: its own --tls-ca is another CA"
        }
        ConnectionError::ConnectionClosed(theirs) if is(theirs.error_code, &[alert::NO_APPLICATION_PROTOCOL]) => {
            "; what answers is no SUT node, or one of another version"
        }
        ConnectionError::TimedOut => NOTHING_ANSWERS,
        _ => "",
    };
    format!("{error}{advice}")
}

fn is(code: TransportErrorCode, alerts: &[u8]) -> bool {
    alerts.iter().any(|&alert| code == TransportErrorCode::crypto(alert))
}

/// The traffic and the losses of a connection until now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QuicStatistics {
    /// Bytes of UDP payload given to the kernel.
    pub bytes_written: u64,
    /// Bytes of UDP payload taken from the kernel.
    pub bytes_read: u64,
    /// Number of QUIC packets sent.
    pub packets_sent: u64,
    /// Number of packets declared lost; their content was sent again.
    pub packets_lost: u64,
    /// Number of bytes in the lost packets.
    pub bytes_lost: u64,
    /// Number of times that the congestion window was cut.
    pub congestion_events: u64,
    /// The smoothed round-trip time.
    pub round_trip: Duration,
    /// The congestion window, in bytes.
    pub congestion_window: u64,
    /// The largest UDP payload that the path carries, in bytes.
    pub datagram_bytes: u16,
}

/// Returns the path of a connection. This crate's configuration leaves quinn's usual congestion control.
pub fn path(connection: &Connection) -> Path {
    let segment_bytes = u32::from(connection.stats().path.current_mtu);
    // Behind the heads of IP and UDP.
    let head_bytes = if connection.remote_address().is_ipv4() { 28 } else { 48 };
    Path { segment_bytes, mtu_bytes: segment_bytes + head_bytes, congestion_control: "cubic".to_owned() }
}

/// Reads `connection`'s counters.
pub fn statistics(connection: &Connection) -> QuicStatistics {
    let stats = connection.stats();
    QuicStatistics {
        bytes_written: stats.udp_tx.bytes,
        bytes_read: stats.udp_rx.bytes,
        packets_sent: stats.path.sent_packets,
        packets_lost: stats.path.lost_packets,
        bytes_lost: stats.path.lost_bytes,
        congestion_events: stats.path.congestion_events,
        round_trip: stats.path.rtt,
        congestion_window: stats.path.cwnd,
        datagram_bytes: stats.path.current_mtu,
    }
}

#[cfg(test)]
mod tests;
