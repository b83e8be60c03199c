//! What one `--listen HOST:PORT` opens: a TCP port, and the UDP port of the same number.

use std::io;
use std::net::{SocketAddr, TcpListener, UdpSocket};

/// A free TCP port may be taken over UDP; so many are tried before that is an error.
const ATTEMPTS: usize = 16;

/// The sockets of a node that is about to serve. Clients can connect from here on.
#[derive(Debug)]
pub struct Sockets {
    pub(crate) tcp: TcpListener,
    pub(crate) udp: UdpSocket,
    address: SocketAddr,
}

/// Why a node cannot listen.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// The TCP port cannot be had.
    #[error("cannot listen on {listen} (--listen): {source}")]
    Tcp {
        /// What was asked for.
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
        /// What was asked for.
        listen: String,
        /// The number.
        port: u16,
        /// The operating system's answer.
        source: io::Error,
    },
}

impl Sockets {
    /// Listens on `HOST:PORT`; with port 0 on one that is free for both.
    ///
    /// # Errors
    /// A port that cannot be had.
    pub fn bind(listen: &str) -> Result<Sockets, ListenError> {
        let attempts = if listen.ends_with(":0") { ATTEMPTS } else { 1 };
        // Kept until the end, or the same would be offered again.
        let mut half_taken = Vec::new();
        loop {
            let of_tcp = |source| ListenError::Tcp { listen: listen.to_owned(), source };
            let tcp = TcpListener::bind(listen).map_err(of_tcp)?;
            let address = tcp.local_addr().map_err(of_tcp)?;
            match UdpSocket::bind(address) {
                Ok(udp) => return Ok(Sockets { tcp, udp, address }),
                Err(_) if half_taken.len() + 1 < attempts => half_taken.push(tcp),
                Err(source) => {
                    return Err(ListenError::Udp { listen: listen.to_owned(), port: address.port(), source });
                }
            }
        }
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
