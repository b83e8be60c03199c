//! Sockets of a node: one `--listen HOST:PORT` opens a TCP port, and the UDP port of the same number.

use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpListener, UdpSocket};

use lon_net::socket::Socket;
use lon_shell::metrics::port::MetricsPort;
use tokio::sync::mpsc;

use super::acceptor::Acceptor;

/// Number of free TCP ports that are tried until one is free for UDP as well.
const ATTEMPTS: usize = 16;

/// Sockets of a node that is about to serve. Clients can connect from here on.
pub struct Sockets {
    pub(crate) tcp: Port,
    /// Where QUIC is served; none on a network that was brought.
    pub(crate) udp: Option<UdpSocket>,
    pub(crate) more: Vec<Box<dyn Acceptor>>,
    /// Where metrics are served; none: nowhere.
    pub(crate) metrics: Option<MetricsPort>,
    address: SocketAddr,
}

/// Where connections come from.
pub(crate) enum Port {
    Tcp(TcpListener),
    /// Connections of a network that was brought, each with the address of its client.
    Brought(Brought),
}

/// Connections of a network that is not the kernel's, each with the address of its client.
pub type Brought = mpsc::Receiver<(Socket, SocketAddr)>;

impl fmt::Debug for Sockets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Sockets { address, more, .. } = self;
        f.debug_struct("Sockets").field("address", address).field("more", &more.len()).finish_non_exhaustive()
    }
}

/// The error for a port that a node cannot listen on.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// The TCP port cannot be had.
    #[error("cannot listen on {listen} (--listen): {source}{}", advice(.listen, .source))]
    Tcp {
        /// The host and port that were given.
        listen: String,
        /// The operating system's answer.
        source: io::Error,
    },
    /// The TCP port can be had, the UDP port cannot.
    #[error(
        "cannot listen on UDP port {port} of {listen} (--listen), where QUIC is served: {source}; choose a port that \
         is free for TCP and for UDP"
    )]
    Udp {
        /// The host and port that were given.
        listen: String,
        /// The number of the port.
        port: u16,
        /// The operating system's answer.
        source: io::Error,
    },
}

/// Returns advice for the user: the missing part of `HOST:PORT`, or that another program has the port.
fn advice(listen: &str, source: &io::Error) -> String {
    match source.kind() {
        io::ErrorKind::AddrInUse => "; another program listens there: end it, or choose another port".to_owned(),
        _ => form(listen),
    }
}

/// Returns a hint on the missing part of `HOST:PORT`.
fn form(listen: &str) -> String {
    match listen.rsplit_once(':') {
        Some((host, _)) if !host.is_empty() => String::new(),
        Some((_, port)) => format!("; write HOST:PORT, for example 0.0.0.0:{port}"),
        None if listen.bytes().all(|byte| byte.is_ascii_digit()) => {
            format!("; write HOST:PORT, for example 0.0.0.0:{listen}")
        }
        None => format!("; write HOST:PORT, for example {listen}:8000"),
    }
}

impl Sockets {
    /// Listens on `HOST:PORT`; with port 0 on a port that is free for TCP and for UDP.
    ///
    /// # Errors
    /// The port cannot be had.
    pub fn bind(listen: &str) -> Result<Sockets, ListenError> {
        let attempts = if listen.ends_with(":0") { ATTEMPTS } else { 1 };
        // These ports stay open until the end, or the system would offer the same port again.
        let mut half_taken = Vec::new();
        loop {
            let of_tcp = |source| ListenError::Tcp { listen: listen.to_owned(), source };
            let tcp = TcpListener::bind(listen).map_err(of_tcp)?;
            let address = tcp.local_addr().map_err(of_tcp)?;
            match UdpSocket::bind(address) {
                Ok(udp) => {
                    return Ok(Sockets { udp: Some(udp), ..Sockets::new(Port::Tcp(tcp), address) });
                }
                Err(_) if half_taken.len() + 1 < attempts => half_taken.push(tcp),
                Err(source) => {
                    return Err(ListenError::Udp { listen: listen.to_owned(), port: address.port(), source });
                }
            }
        }
    }

    /// Serves the connections of a network that is brought, at `address` there. QUIC is not served.
    pub fn brought(connections: Brought, address: SocketAddr) -> Sockets {
        Sockets::new(Port::Brought(connections), address)
    }

    fn new(tcp: Port, address: SocketAddr) -> Sockets {
        Sockets { tcp, udp: None, more: Vec::new(), metrics: None, address }
    }

    /// Serves metrics on this port. It wants the node's token where the node has one.
    #[must_use]
    pub fn with_metrics(mut self, metrics: Option<MetricsPort>) -> Sockets {
        self.metrics = metrics;
        self
    }

    /// Adds a transport to those that every node has. It brings a listener of its own and serves on the first I/O
    /// thread.
    #[must_use]
    pub fn with(mut self, transport: impl Acceptor) -> Sockets {
        self.more.push(Box::new(transport));
        self
    }

    /// Address and port, the same for TCP and UDP.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sockets_have_one_number() {
        let sockets = Sockets::bind("127.0.0.1:0").unwrap();
        let (Port::Tcp(tcp), Some(udp)) = (&sockets.tcp, &sockets.udp) else { panic!() };
        assert_eq!(tcp.local_addr().unwrap(), udp.local_addr().unwrap());
        assert_eq!(sockets.address(), tcp.local_addr().unwrap());
    }

    #[test]
    fn a_port_that_is_taken_is_named_with_its_kind() {
        // Of a number that was free for both a moment ago: any number may be that of somebody's TCP connection.
        let mut sockets = Sockets::bind("127.0.0.1:0").unwrap();
        let _udp = sockets.udp.take().unwrap();
        let listen = sockets.address().to_string();
        drop(sockets);
        let error = Sockets::bind(&listen).unwrap_err().to_string();
        assert!(error.contains(&listen) && error.contains("UDP") && error.contains("--listen"), "{error}");
        let taken = Sockets::bind("127.0.0.1:0").unwrap();
        let listen = taken.address().to_string();
        let error = Sockets::bind(&listen).unwrap_err().to_string();
        assert!(error.contains(&listen) && !error.contains("UDP"), "{error}");
    }
}
