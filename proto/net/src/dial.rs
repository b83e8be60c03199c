//! The client's side of a connection over TCP, up to where messages begin.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::io::{Counted, NetStream, SocketCounters, own_shortage};
use crate::lookup::Lookup;
use crate::socket::Socket;
use crate::tcp::MAGIC;
use crate::tls::{ClientTls, Protocol, advice, host_of, server_name};

/// Looks `HOST:PORT` (or `[ADDRESS]:PORT`) up and connects as [`dial_at`] does.
///
/// # Errors
/// There is no such host, and those of [`dial_at`].
pub async fn dial(
    host_and_port: &str,
    tls: Option<&ClientTls>,
    protocol: Protocol,
    counters: Arc<SocketCounters>,
) -> io::Result<NetStream> {
    dial_at(host_and_port, &Lookup::anywhere().find(host_and_port).await?, tls, protocol, counters).await
}

/// Connects to `HOST:PORT` (or `[ADDRESS]:PORT`) at these addresses of it, the first that answers: TCP without Nagle's
/// delay, then TLS if asked for, then, for [`Protocol::Tcp`], the magic. What the caller writes first is its first
/// message.
///
/// The operating system decides how long each address takes: callers set a limit. With TLS 1.3 a node that misses a
/// client's certificate says so only when something is read.
///
/// # Errors
/// No connection at any of the addresses, or a handshake failed. Each error names the host and what to do.
pub async fn dial_at(
    host_and_port: &str,
    addresses: &[SocketAddr],
    tls: Option<&ClientTls>,
    protocol: Protocol,
    counters: Arc<SocketCounters>,
) -> io::Result<NetStream> {
    let connect = async { connect(host_and_port, addresses).await.map(Socket::Tcp) };
    begin(host_and_port, connect, tls, protocol, counters).await
}

/// The same over a connection that `connect` makes.
///
/// # Errors
/// Those of [`dial_at`].
pub async fn begin(
    host_and_port: &str,
    connect: impl Future<Output = io::Result<Socket>>,
    tls: Option<&ClientTls>,
    protocol: Protocol,
    counters: Arc<SocketCounters>,
) -> io::Result<NetStream> {
    let host = host_of(host_and_port)?;
    let tls = tls.map(|tls| Ok::<_, io::Error>((tls.config(protocol), server_name(host)?))).transpose()?;
    let socket = Counted::new(connect.await?, counters);
    let mut stream = match tls {
        None => NetStream::plain(socket),
        Some((config, name)) => {
            let shaken = TlsConnector::from(config).connect(name, socket).await;
            NetStream::tls(shaken.map_err(|error| explained(host_and_port, host, &error))?)
        }
    };
    if protocol == Protocol::Tcp {
        stream.write_all(&MAGIC).await?;
        stream.flush().await?;
    }
    Ok(stream)
}

async fn connect(host_and_port: &str, addresses: &[SocketAddr]) -> io::Result<TcpStream> {
    let named = |error: io::Error| {
        let shortage = own_shortage(&error).unwrap_or_default();
        io::Error::new(error.kind(), format!("cannot connect to {host_and_port}: {error}{shortage}"))
    };
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in addresses {
        match TcpStream::connect(address).await {
            Ok(tcp) => {
                tcp.set_nodelay(true).map_err(named)?;
                return Ok(tcp);
            }
            Err(error) => last = error,
        }
    }
    Err(named(last))
}

/// The error of the TLS library, and what it most likely means.
fn explained(host_and_port: &str, host: &str, error: &io::Error) -> io::Error {
    let hint = match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        Some(refused) => advice(refused, host),
        // The node resets the connection when it had not read all that was sent.
        None if matches!(error.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset) => {
            "; the node hung up: perhaps it does not speak TLS (its --tls-cert and --tls-key)".to_owned()
        }
        None => String::new(),
    };
    io::Error::new(error.kind(), format!("TLS with {host_and_port}: {error}{hint}"))
}
