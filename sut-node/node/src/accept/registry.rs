//! The transports that every node has. A new one is a file beside this and a line here. One that shares the TCP port
//! also has to be told apart there: by `lon_net::accept::Accepted` and [`ByProtocol`].

use std::net::UdpSocket;

use lon_net::tls::ServerTls;
use tokio::sync::mpsc;

use super::acceptor::Acceptor;
use super::grpc::{Grpc, Services};
use super::listener::ByProtocol;
use super::open_connections::OpenConnections;
use super::quic::Quic;
use super::tcp::Tcp;
use crate::error::ServeError;

/// Number of connections that may wait for a transport of the TCP port on one I/O thread.
const MAX_WAITING: usize = 64;

/// The transports that have a port of their own. They serve on the first I/O thread. Must be called on its runtime.
/// Their connections are among `open_connections`.
///
/// # Errors
/// A transport cannot use its socket.
pub(crate) fn of_own_ports(
    udp: Option<UdpSocket>,
    tls: Option<&ServerTls>,
    open_connections: &OpenConnections,
) -> Result<Vec<Box<dyn Acceptor>>, ServeError> {
    let Some(udp) = udp else { return Ok(Vec::new()) };
    Ok(vec![Box::new(Quic::open(udp, tls, open_connections.clone())?)])
}

/// The transports that share the TCP port, for one I/O thread, and where its connections go.
pub(crate) fn of_tcp_port(services: Services) -> (ByProtocol, Vec<Box<dyn Acceptor>>) {
    let (grpc, grpc_incoming) = mpsc::channel(MAX_WAITING);
    let (tcp, tcp_incoming) = mpsc::channel(MAX_WAITING);
    let transports: Vec<Box<dyn Acceptor>> =
        vec![Box::new(Grpc::new(grpc_incoming, services)), Box::new(Tcp::new(tcp_incoming))];
    (ByProtocol { grpc, tcp }, transports)
}
