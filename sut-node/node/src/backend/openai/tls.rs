//! TLS to servers whose URL begins with `https://`: rustls with ring, TLS 1.3, and the CA that the user named.
//!
//! No list of public CAs is built in, and the system's is not looked for: as with the node's own TLS, a file says whom
//! to trust. A system's list is such a file.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::client::ClientConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::version::TLS13;
use rustls::{CertificateError, ClientConnection, RootCertStore, StreamOwned};

use super::error::{OpenAiError, PromptFailure};

/// Verification of a server. One for all connections to it.
#[derive(Debug)]
pub(super) struct Tls {
    config: Arc<ClientConfig>,
    /// The name or address that the server's certificate must be for.
    name: ServerName<'static>,
}

/// A connection inside TLS, the handshake made.
#[derive(Debug)]
pub(super) struct TlsStream(StreamOwned<ClientConnection, TcpStream>);

impl Tls {
    /// Trusts the certificates in the PEM file `ca` and no others.
    ///
    /// # Errors
    /// The file has no certificate that can be used, or no certificate can be for `host`.
    pub(super) fn new(host: &str, ca: &Path) -> Result<Tls, OpenAiError> {
        let bad_file = |reason: String| OpenAiError::CaFile { path: ca.to_owned(), reason };
        let roots = read_roots(ca).map_err(bad_file)?;
        let name = ServerName::try_from(host.to_owned()).map_err(|_| OpenAiError::HostName(host.to_owned()))?;
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let builder = builder.with_protocol_versions(&[&TLS13]).map_err(|error| bad_file(error.to_string()))?;
        let mut config = builder.with_root_certificates(roots).with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Tls { config: Arc::new(config), name })
    }

    /// Makes the handshake within `limit`. The stream's own read and write timeouts must be shorter.
    ///
    /// # Errors
    /// [`PromptFailure::Tls`]: the server does not speak TLS 1.3, or shows no certificate for this name from this CA.
    pub(super) fn handshake(&self, mut stream: TcpStream, limit: Duration) -> Result<TlsStream, PromptFailure> {
        let connection = ClientConnection::new(Arc::clone(&self.config), self.name.clone());
        let mut connection = connection.map_err(|error| PromptFailure::Tls(error.to_string()))?;
        let start = Instant::now();
        while connection.is_handshaking() {
            match connection.complete_io(&mut stream) {
                Err(error) if !is_wait(&error) => return Err(PromptFailure::Tls(explain(&error))),
                _ if start.elapsed() < limit => {}
                _ => return Err(PromptFailure::Tls(format!("no handshake within {limit:?}"))),
            }
        }
        Ok(TlsStream(StreamOwned::new(connection, stream)))
    }
}

impl Read for TlsStream {
    /// A connection that ends without a `close_notify` counts as closed, since many servers send none. Whether an
    /// answer is whole is known from its length and its last event, not from the end of its connection.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let StreamOwned { conn, sock } = &mut self.0;
        // rustls's own read would first send what waits to be sent, but a server may answer without reading on.
        loop {
            match conn.reader().read(buffer) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(0),
                outcome => return outcome,
            }
            conn.read_tls(sock)?;
            conn.process_new_packets().map_err(|error| io::Error::new(ErrorKind::InvalidData, error))?;
        }
    }
}

impl Write for TlsStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Returns true when a read or write ended only because nothing moved within its timeout.
pub(super) fn is_wait(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

/// The certificates in a PEM file. Those that cannot be used are passed over: long lists have a few.
fn read_roots(path: &Path) -> Result<RootCertStore, String> {
    let certificates = CertificateDer::pem_file_iter(path).map_err(|error| reason_of(&error))?;
    let certificates = certificates.collect::<Result<Vec<_>, _>>().map_err(|error| reason_of(&error))?;
    let mut roots = RootCertStore::empty();
    match roots.add_parsable_certificates(certificates) {
        (0, 0) => Err("it has no certificate in it; a PEM file with 'BEGIN CERTIFICATE' is wanted".to_owned()),
        (0, _) => Err("none of its certificates can be used".to_owned()),
        _ => Ok(roots),
    }
}

fn reason_of(error: &pem::Error) -> String {
    match error {
        pem::Error::Io(error) => error.to_string(),
        error => format!("it is no valid PEM file: {error}"),
    }
}

/// An error of a handshake, and what can be done about it.
fn explain(error: &io::Error) -> String {
    let cause = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    let advice = match cause {
        // A bad signature: two CAs of the same name.
        Some(rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer | CertificateError::BadSignature)) => {
            "; --server-ca must be the CA that signed the server's certificate"
        }
        Some(rustls::Error::InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
        )) => "; give the URL with a name that is in the server's certificate",
        // The certificate's own error is not handed on, but for its words.
        Some(rustls::Error::InvalidCertificate(CertificateError::Other(other)))
            if format!("{other:?}").contains("CaUsedAsEndEntity") =>
        {
            "; the server's certificate is that of a CA (CA:TRUE): give the server one of its own (CA:FALSE)"
        }
        Some(rustls::Error::InvalidMessage(_)) => "; the server does not speak TLS here: is its URL http://?",
        _ => "",
    };
    format!("{error}{advice}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_a_ca_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ca.pem");
        let odd = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        for (text, part) in [
            ("", "no certificate in it"),
            ("-----BEGIN CERTIFICATE-----\nAAAA\n", "no valid PEM file"),
            (odd, "none of its certificates can be used"),
        ] {
            std::fs::write(&path, text).unwrap();
            let error = Tls::new("localhost", &path).unwrap_err().to_string();
            assert!(error.contains(part) && error.contains("ca.pem (--server-ca)"), "{error}");
        }
        let error = Tls::new("localhost", &folder.path().join("none")).unwrap_err().to_string();
        assert!(error.contains("No such file"), "{error}");
    }

    #[test]
    fn a_host_that_no_certificate_can_be_for_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let files = lon_net::throwaway::Throwaway::new(&["localhost"]).unwrap().write(folder.path()).unwrap();
        let ca = files.ca.unwrap();
        for good in ["localhost", "127.0.0.1", "::1", "llm_1.example"] {
            Tls::new(good, &ca).unwrap();
        }
        let error = Tls::new("no..name", &ca).unwrap_err().to_string();
        assert!(error.contains("'no..name'"), "{error}");
    }
}
