//! TLS for every transport, set up by the same three flags at both ends: rustls with ring, TLS 1.3, nothing else.
//!
//! Here are the configurations; handshakes are made where connections are (`dial`, `accept`, `quic`). Whether plain
//! text is allowed is the caller's to decide.

mod clients;
mod error;
mod files;
mod unverified;

use std::sync::Arc;

use rustls::client::{ClientConfig, WantsClientCert};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::ServerName;
use rustls::server::ServerConfig;
use rustls::version::TLS13;
use rustls::{CertificateError, ConfigBuilder, OtherError, WantsVerifier};

use clients::Clients;
pub use clients::{ClientName, ClientNameError};
pub use error::TlsError;
pub use files::TlsFiles;
use files::{Ca, KINDS, Pair, Pem};
pub use unverified::Unverified;

/// The protocol on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// HTTP/2, as gRPC speaks it.
    Grpc,
    /// Messages in frames and nothing around them: plain TCP, and the streams of QUIC.
    Tcp,
}

impl Protocol {
    /// Returns the name of the protocol in the handshake (ALPN).
    pub fn alpn(self) -> &'static [u8] {
        match self {
            Protocol::Grpc => b"h2",
            Protocol::Tcp => b"lon/1",
        }
    }
}

/// The name of HTTP/1.1 in handshakes. Only servers of ours speak HTTP/1.1, beside the protocols of runs.
const HTTP_1_1: &[u8] = b"http/1.1";

/// The crypto, named: with two providers in one build rustls would panic rather than choose. AES-128 comes first: as
/// strong as the certificates' keys, and with fewer rounds a byte than AES-256, which bulk transfer feels.
fn provider() -> Arc<CryptoProvider> {
    let mut provider = ring::default_provider();
    provider.cipher_suites = vec![
        ring::cipher_suite::TLS13_AES_128_GCM_SHA256,
        ring::cipher_suite::TLS13_AES_256_GCM_SHA384,
        ring::cipher_suite::TLS13_CHACHA20_POLY1305_SHA256,
    ];
    Arc::new(provider)
}

fn client_config(
    provider: &Arc<CryptoProvider>,
    pair: Option<&Pair>,
    protocol: Protocol,
    trust: impl FnOnce(ConfigBuilder<ClientConfig, WantsVerifier>) -> ConfigBuilder<ClientConfig, WantsClientCert>,
) -> Result<Arc<ClientConfig>, TlsError> {
    let builder = ClientConfig::builder_with_provider(Arc::clone(provider));
    let builder = builder.with_protocol_versions(&[&TLS13]).map_err(|error| no_tls13(&error))?;
    let builder = trust(builder);
    let mut config = match pair {
        None => builder.with_no_client_auth(),
        Some(pair) => pair.build(|chain, key| builder.with_client_auth_cert(chain, key))?,
    };
    config.alpn_protocols = vec![protocol.alpn().to_vec()];
    Ok(Arc::new(config))
}

/// Cannot come about with ring, which has all that TLS 1.3 asks for.
fn no_tls13(error: &rustls::Error) -> TlsError {
    TlsError::Unusable { flag: "*", origin: "TLS 1.3".to_owned(), source: error.to_string().into() }
}

/// The TLS settings of a client: how it verifies nodes, and the certificate that it shows them. Cheap to clone.
#[derive(Clone, Debug)]
pub struct ClientTls {
    grpc: Arc<ClientConfig>,
    tcp: Arc<ClientConfig>,
}

impl ClientTls {
    /// Trusts the CA in `files` and none besides; shows the certificate in `files` if there is one.
    ///
    /// # Errors
    /// No CA, or files that cannot be used: see [`TlsError`].
    pub fn new(files: &TlsFiles) -> Result<ClientTls, TlsError> {
        let pair = Pair::read(files)?;
        let ca = Ca::read(files)?.ok_or(TlsError::NoCa)?;
        ClientTls::build(&ca, pair.as_ref())
    }

    /// The same with texts in PEM; `pair` is certificate and key.
    ///
    /// # Errors
    /// As [`ClientTls::new`].
    pub fn from_pem(ca: &str, pair: Option<(&str, &str)>) -> Result<ClientTls, TlsError> {
        ClientTls::build(&Ca(Pem::from_text("ca", ca)), pair.map(pair_of).as_ref())
    }

    fn build(ca: &Ca, pair: Option<&Pair>) -> Result<ClientTls, TlsError> {
        let roots = ca.roots()?;
        let config = |protocol| {
            client_config(&provider(), pair, protocol, |builder| builder.with_root_certificates(Arc::clone(&roots)))
        };
        Ok(ClientTls { grpc: config(Protocol::Grpc)?, tcp: config(Protocol::Tcp)? })
    }

    /// The configuration that asks for `protocol`.
    pub(crate) fn config(&self, protocol: Protocol) -> Arc<ClientConfig> {
        Arc::clone(match protocol {
            Protocol::Grpc => &self.grpc,
            Protocol::Tcp => &self.tcp,
        })
    }
}

/// The TLS settings of a node: the certificate that it shows its clients, and whether clients must show one. Cheap to
/// clone.
#[derive(Clone, Debug)]
pub struct ServerTls {
    stream: Arc<ServerConfig>,
    quic: Arc<ServerConfig>,
    http: Arc<ServerConfig>,
    asks_clients: bool,
}

impl ServerTls {
    /// Shows the certificate in `files`; with a CA in them, clients must show a certificate of that CA that no node can
    /// have.
    ///
    /// # Errors
    /// No certificate or key, or files that cannot be used: see [`TlsError`].
    pub fn new(files: &TlsFiles) -> Result<ServerTls, TlsError> {
        ServerTls::for_clients(files, &[])
    }

    /// The same; where `allowed` names clients, these and no others are served, whatever else their certificates are
    /// good for. None but this node's own.
    ///
    /// # Errors
    /// As [`ServerTls::new`], and names without a CA.
    pub fn for_clients(files: &TlsFiles, allowed: &[ClientName]) -> Result<ServerTls, TlsError> {
        let pair = Pair::read(files)?.ok_or(TlsError::NoCertificate)?;
        let ca = Ca::read(files)?;
        if ca.is_none() && !allowed.is_empty() {
            return Err(TlsError::NoClientCa);
        }
        ServerTls::build(&pair, ca.as_ref(), allowed)
    }

    /// The same with texts in PEM.
    ///
    /// # Errors
    /// As [`ServerTls::new`].
    pub fn from_pem(cert: &str, key: &str, ca: Option<&str>) -> Result<ServerTls, TlsError> {
        ServerTls::build(&pair_of((cert, key)), ca.map(|ca| Ca(Pem::from_text("ca", ca))).as_ref(), &[])
    }

    fn build(pair: &Pair, ca: Option<&Ca>, allowed: &[ClientName]) -> Result<ServerTls, TlsError> {
        let builder = ServerConfig::builder_with_provider(provider());
        let builder = builder.with_protocol_versions(&[&TLS13]).map_err(|error| no_tls13(&error))?;
        let builder = match ca {
            None => builder.with_no_client_auth(),
            Some(ca) => {
                let clients = Clients::new(ca.roots()?, provider(), pair.public_key()?, allowed);
                builder.with_client_cert_verifier(Arc::new(clients.map_err(|error| ca.0.unusable(error))?))
            }
        };
        let mut stream = pair.build(|chain, key| builder.with_single_cert(chain, key))?;
        // Tickets for resumption come unasked. A client that only writes leaves them unread, and then its close is a
        // reset, which takes back what it wrote last. Connections here are few and long: nobody misses them.
        stream.send_tls13_tickets = 0;
        let (mut quic, mut http) = (stream.clone(), stream.clone());
        stream.alpn_protocols = [Protocol::Grpc, Protocol::Tcp].map(|protocol| protocol.alpn().to_vec()).into();
        quic.alpn_protocols = vec![Protocol::Tcp.alpn().to_vec()];
        http.alpn_protocols = vec![HTTP_1_1.to_vec()];
        let [stream, quic, http] = [stream, quic, http].map(Arc::new);
        Ok(ServerTls { stream, quic, http, asks_clients: ca.is_some() })
    }

    /// Returns true when clients have to show a certificate.
    pub fn asks_clients(&self) -> bool {
        self.asks_clients
    }

    /// For TCP: clients choose between HTTP/2 and ours.
    pub(crate) fn stream(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.stream)
    }

    /// For HTTP/1.1 alone, on a port of its own.
    pub(crate) fn http(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.http)
    }

    /// The configuration for QUIC.
    pub(crate) fn quic(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.quic)
    }
}

fn pair_of((cert, key): (&str, &str)) -> Pair {
    Pair { cert: Pem::from_text("cert", cert), key: Pem::from_text("key", key) }
}

/// Host and port apart; brackets around an IPv6 address are left out of the host.
///
/// # Errors
/// There is no port.
pub(crate) fn host_of(host_and_port: &str) -> std::io::Result<&str> {
    let invalid = || {
        let text = format!("{host_and_port}: HOST:PORT is wanted, or [ADDRESS]:PORT for IPv6");
        std::io::Error::new(std::io::ErrorKind::InvalidInput, text)
    };
    let (host, _) = host_and_port.rsplit_once(':').ok_or_else(invalid)?;
    match host.strip_prefix('[') {
        Some(inner) => inner.strip_suffix(']').ok_or_else(invalid),
        None => Ok(host),
    }
}

/// The name that the certificate of the node that was dialled must carry.
///
/// # Errors
/// Neither a name nor an address.
pub(crate) fn server_name(host: &str) -> std::io::Result<ServerName<'static>> {
    // A zone says on which link an address is; certificates know nothing of links.
    let host = host.split_once('%').map_or(host, |(address, _)| address);
    ServerName::try_from(host.to_owned()).map_err(|_| {
        let text = format!("{host}: neither a host name nor an address, so no certificate can be for it");
        std::io::Error::new(std::io::ErrorKind::InvalidInput, text)
    })
}

/// Returns the remedy for a client that does not accept a certificate. In most cases there is no remedy, and the text
/// is empty.
pub(crate) fn advice(error: &rustls::Error, host: &str) -> String {
    match error {
        // A bad signature: two CAs of the same name.
        rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer | CertificateError::BadSignature) => {
            "; --tls-ca must be the CA that signed this node's certificate".to_owned()
        }
        rustls::Error::InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
        ) => format!("; dial the node by a name in its certificate, or have {host} put into it"),
        rustls::Error::InvalidCertificate(CertificateError::Other(other)) if is_of_ca(other) => OF_CA.to_owned(),
        rustls::Error::InvalidCertificate(
            CertificateError::UnsupportedSignatureAlgorithmContext { .. }
            | CertificateError::UnsupportedSignatureAlgorithmForPublicKeyContext { .. },
        ) => format!("; the certificate, or the CA that signed it, has a key of another kind: {KINDS}"),
        rustls::Error::InvalidMessage(_) => {
            "; the node does not speak TLS here: start it with --tls-cert and --tls-key, or leave out --tls-ca"
                .to_owned()
        }
        _ => String::new(),
    }
}

/// The remedy for a node that shows the certificate of a CA.
pub(crate) const OF_CA: &str = "; the node's certificate is that of a CA (CA:TRUE), which `openssl req -x509` makes \
                                unless told otherwise: make it with -addext basicConstraints=critical,CA:FALSE";

/// Returns true when a node was refused because it shows the certificate of a CA as its own.
fn is_of_ca(error: &OtherError) -> bool {
    error.0.downcast_ref() == Some(&webpki::Error::CaUsedAsEndEntity)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::throwaway::Throwaway;

    struct Folder {
        folder: tempfile::TempDir,
        files: TlsFiles,
    }

    fn folder() -> Folder {
        let folder = tempfile::tempdir().unwrap();
        let files = Throwaway::new(&["localhost"]).unwrap().write(folder.path()).unwrap();
        Folder { folder, files }
    }

    impl Folder {
        fn file(&self, name: &str, text: &str) -> Option<PathBuf> {
            let path = self.folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            Some(path)
        }
    }

    #[test]
    fn good_files_make_both_ends() {
        let Folder { folder: _folder, files } = folder();
        ClientTls::new(&files).unwrap();
        ClientTls::new(&TlsFiles { cert: None, key: None, ..files.clone() }).unwrap();
        ServerTls::new(&files).unwrap();
        ServerTls::new(&TlsFiles { ca: None, ..files.clone() }).unwrap();
        Unverified::new(&files).unwrap();
        Unverified::new(&TlsFiles::default()).unwrap();
        assert!(TlsFiles::default().is_empty() && !files.is_empty());
    }

    /// Both ends say the same of the same mistake, by the flag's name and the file's.
    #[test]
    fn mistakes_are_named() {
        let here = folder();
        let other = folder();
        // The texts below are written as any file is.
        let good = TlsFiles { allows_open_key: true, ..here.files.clone() };
        let text = here.file("text.pem", "no PEM at all\n");
        let cut = here.file("cut.pem", "-----BEGIN CERTIFICATE-----\nAAAA\n");
        let odd = here.file("odd.pem", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
        let cases = [
            (TlsFiles { ca: Some("/nowhere/ca.pem".into()), ..good.clone() }, "cannot read /nowhere/ca.pem (--tls-ca)"),
            (TlsFiles { ca: text.clone(), ..good.clone() }, "text.pem (--tls-ca) has no certificate in it"),
            (TlsFiles { cert: text.clone(), ..good.clone() }, "text.pem (--tls-cert) has no certificate in it"),
            (TlsFiles { key: good.cert.clone(), ..good.clone() }, "cert.pem (--tls-key) has no private key in it"),
            (TlsFiles { cert: cut, ..good.clone() }, "cut.pem (--tls-cert) is no valid PEM file"),
            (TlsFiles { ca: odd.clone(), ..good.clone() }, "odd.pem (--tls-ca) cannot be used"),
            (TlsFiles { cert: odd, ..good.clone() }, "odd.pem (--tls-cert) cannot be used"),
            (TlsFiles { key: None, ..good.clone() }, "--tls-cert needs --tls-key"),
            (TlsFiles { cert: None, ..good.clone() }, "--tls-key needs --tls-cert"),
            (TlsFiles { key: other.files.key.clone(), ..good.clone() }, "is not the private key of the first"),
        ];
        for (files, expected) in cases {
            let client = ClientTls::new(&files).unwrap_err().to_string();
            let server = ServerTls::new(&files).unwrap_err().to_string();
            assert_eq!(client, server);
            assert!(client.contains(expected), "{client:?} should say {expected:?}");
        }
        let no_ca = ClientTls::new(&TlsFiles { ca: None, ..good.clone() }).unwrap_err();
        assert!(matches!(no_ca, TlsError::NoCa));
        let no_certificate = ServerTls::new(&TlsFiles { cert: None, key: None, ..good }).unwrap_err();
        assert!(matches!(no_certificate, TlsError::NoCertificate));
    }

    #[test]
    fn a_certificate_of_a_ca_at_a_node_is_named_as_such() {
        use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};
        use rustls::client::verify_server_cert_signed_by_trust_anchor;
        use rustls::pki_types::UnixTime;
        use rustls::server::ParsedCertificate;
        let refused = |is_ca: IsCa| {
            let mut params = CertificateParams::new(["n.lab".to_owned()]).unwrap();
            params.is_ca = is_ca;
            let own = params.self_signed(&KeyPair::generate().unwrap()).unwrap().der().clone();
            let mut roots = rustls::RootCertStore::empty();
            roots.add(own.clone()).unwrap();
            let own = ParsedCertificate::try_from(&own).unwrap();
            let algorithms = provider().signature_verification_algorithms.all;
            verify_server_cert_signed_by_trust_anchor(&own, &roots, &[], UnixTime::now(), algorithms).err()
        };
        let error = refused(IsCa::Ca(BasicConstraints::Unconstrained)).unwrap();
        assert_eq!(advice(&error, "n.lab"), OF_CA);
        assert!(error.to_string().contains("CaUsedAsEndEntity"), "QUIC has these words alone: {error}");
        assert_eq!(refused(IsCa::ExplicitNoCa), None);
    }

    #[test]
    fn a_key_of_an_unsupported_curve_is_named_as_such() {
        let Folder { folder, files } = folder();
        let key = folder.path().join("p521.key");
        std::fs::write(&key, P521_KEY).unwrap();
        let files = TlsFiles { key: Some(key), allows_open_key: true, ..files };
        let message = ServerTls::new(&files).unwrap_err().to_string();
        assert!(message.contains("p521.key (--tls-key) cannot be used: its curve is P-521; keys of RSA"), "{message}");
        assert_eq!(message, ClientTls::new(&files).unwrap_err().to_string());
    }

    /// A key that is used nowhere.
    const P521_KEY: &str = "-----BEGIN PRIVATE KEY-----\n\
             MIHuAgEAMBAGByqGSM49AgEGBSuBBAAjBIHWMIHTAgEBBEIAO3smfndKg8AAbuyf\n\
             jIKeerMye86k4jkE0ir++kTxXq+MMyZTZTkAp3lk3H6WQN6s1YBejM9KXAbwjkIC\n\
             dniT3i6hgYkDgYYABADIoPNfhDulOKIYGohoFhv9WGxP+N5i1fbrHk3/t5PDmeE7\n\
             /Hl4vpydGxPGNw4VcH0NlPGhpc204m/t1DxbrUOfXABxizCRWwN84gy0cvYkl/39\n\
             883QymaKTuq1JHmaCS/Bbf7L80tmOSZ0b2B1MVZLU3GqCIwyvMFTChTBCV/yaVzP\n\
             MA==\n\
             -----END PRIVATE KEY-----\n";

    #[test]
    fn hosts_are_taken_apart() {
        for (text, host) in [("a.b:1", "a.b"), ("[::1]:50051", "::1"), ("10.0.0.1:1", "10.0.0.1")] {
            assert_eq!(host_of(text).unwrap(), host);
            server_name(host).unwrap();
        }
        for text in ["a.b", "[::1:1"] {
            assert!(host_of(text).is_err(), "{text}");
        }
        assert_eq!(server_name("fe80::1%eth0").unwrap(), server_name("fe80::1").unwrap());
        assert!(server_name("no name").is_err());
    }
}
