//! The port of `--metrics-listen`, and who may ask there.
//!
//! The rules are those of all ports: plain text stays on the host unless it is asked for, TLS is the program's own, and
//! where clients need a token to learn what a program is, they need it here too.

use std::io;
use std::net::{SocketAddr, TcpListener};

use lon_net::lookup::stays_on_host;
use lon_net::tls::ServerTls;
use lon_net::token::Token;

/// A port on which metrics will be served. Clients can connect from here on.
#[derive(Debug)]
pub struct MetricsPort {
    pub(super) listener: TcpListener,
    pub(super) tls: Option<ServerTls>,
    pub(super) token: Option<Token>,
    address: SocketAddr,
}

/// The error for a port that metrics cannot be served on.
#[derive(Debug, thiserror::Error)]
pub enum MetricsPortError {
    /// The port cannot be had.
    #[error("cannot listen on {listen} (--metrics-listen; HOST:PORT, for example 127.0.0.1:9464): {source}")]
    Listen {
        /// The host and port that were given.
        listen: String,
        /// The operating system's answer.
        source: io::Error,
    },
    /// Plain text would leave the host.
    #[error(
        "{0} (--metrics-listen) can be reached from other hosts, and there is no TLS: give --tls-cert and --tls-key, \
         listen on 127.0.0.1, or give --insecure for plain text on a network that you trust"
    )]
    PlainText(SocketAddr),
}

impl MetricsPort {
    /// Listens on `HOST:PORT`, with TLS if it is given. `allows_plain_text`: also on an address that is not loopback.
    ///
    /// # Errors
    /// The port cannot be had, or plain text is not allowed on this address.
    pub fn bind(
        listen: &str,
        tls: Option<ServerTls>,
        allows_plain_text: bool,
    ) -> Result<MetricsPort, MetricsPortError> {
        let failed = |source| MetricsPortError::Listen { listen: listen.to_owned(), source };
        let listener = TcpListener::bind(listen).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        if tls.is_none() && !allows_plain_text && !stays_on_host(address.ip()) {
            return Err(MetricsPortError::PlainText(address));
        }
        Ok(MetricsPort { listener, tls, token: None, address })
    }

    /// Answers only those who show this token, as `Authorization: Bearer TOKEN`.
    #[must_use]
    pub fn for_token(mut self, token: Option<Token>) -> MetricsPort {
        self.token = token;
        self
    }

    /// Address and port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

#[cfg(test)]
mod tests {
    use lon_net::throwaway::Throwaway;

    use super::*;

    #[test]
    fn plain_text_leaves_the_host_only_where_it_is_asked_for() {
        assert!(MetricsPort::bind("127.0.0.1:0", None, false).unwrap().address().port() > 0);
        let refused = MetricsPort::bind("0.0.0.0:0", None, false).unwrap_err().to_string();
        for part in ["0.0.0.0:", "--metrics-listen", "--tls-cert", "--insecure"] {
            assert!(refused.contains(part), "no '{part}' in: {refused}");
        }
        MetricsPort::bind("0.0.0.0:0", None, true).unwrap();
        let tls = Throwaway::new(&["127.0.0.1"]).unwrap().server().unwrap();
        MetricsPort::bind("0.0.0.0:0", Some(tls), false).unwrap();
    }

    #[test]
    fn a_port_that_cannot_be_had_is_named() {
        let taken = MetricsPort::bind("127.0.0.1:0", None, false).unwrap();
        for listen in [taken.address().to_string(), "9464".to_owned(), "127.0.0.1".to_owned()] {
            let error = MetricsPort::bind(&listen, None, false).unwrap_err().to_string();
            assert!(error.contains(&listen) && error.contains("--metrics-listen"), "{error}");
        }
    }
}
