//! What a node listens on: one `--listen HOST:PORT` opens a TCP port, and the UDP port of the same number.

use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpListener, UdpSocket};

use super::transport::Transport;

/// How many free TCP ports are tried until one is free for UDP as well.
const ATTEMPTS: usize = 16;

/// What a node that is about to serve listens on. Clients can connect from here on.
pub struct Sockets {
    pub(crate) tcp: TcpListener,
    pub(crate) udp: UdpSocket,
    pub(crate) more: Vec<Box<dyn Transport>>,
    address: SocketAddr,
}

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
    #[error("cannot listen on {listen} (--listen): {source}")]
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

impl Sockets {
    /// Listens on `HOST:PORT`; with port 0 on a port that is free for TCP and for UDP.
    ///
    /// # Errors
    /// The port cannot be had.
    pub fn bind(listen: &str) -> Result<Sockets, ListenError> {
        let attempts = if listen.ends_with(":0") { ATTEMPTS } else { 1 };
        // Kept until the end, or the system would offer the same port again.
        let mut half_taken = Vec::new();
        loop {
            let of_tcp = |source| ListenError::Tcp { listen: listen.to_owned(), source };
            let tcp = TcpListener::bind(listen).map_err(of_tcp)?;
            let address = tcp.local_addr().map_err(of_tcp)?;
            match UdpSocket::bind(address) {
                Ok(udp) => return Ok(Sockets { tcp, udp, more: Vec::new(), address }),
                Err(_) if half_taken.len() + 1 < attempts => half_taken.push(tcp),
                Err(source) => {
                    return Err(ListenError::Udp { listen: listen.to_owned(), port: address.port(), source });
                }
            }
        }
    }

    /// Adds a transport to those that every node has. It brings a listener of its own and serves on the first I/O
    /// thread.
    #[must_use]
    pub fn with(mut self, transport: impl Transport) -> Sockets {
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
        assert_eq!(sockets.tcp.local_addr().unwrap(), sockets.udp.local_addr().unwrap());
        assert_eq!(sockets.address(), sockets.tcp.local_addr().unwrap());
    }

    #[test]
    fn a_port_that_is_taken_is_named_with_its_kind() {
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        let listen = udp.local_addr().unwrap().to_string();
        let error = Sockets::bind(&listen).unwrap_err().to_string();
        assert!(error.contains(&listen) && error.contains("UDP") && error.contains("--listen"), "{error}");
        let taken = Sockets::bind("127.0.0.1:0").unwrap().tcp;
        let listen = taken.local_addr().unwrap().to_string();
        let error = Sockets::bind(&listen).unwrap_err().to_string();
        assert!(error.contains(&listen) && !error.contains("UDP"), "{error}");
    }
}
