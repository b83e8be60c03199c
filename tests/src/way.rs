//! The ways that samples can travel, for tests of what must hold on all of them.

use lon_net::throwaway::Throwaway;
use lon_net::tls::TlsFiles;
use tempfile::TempDir;

use crate::process::SutNode;
use crate::test_run::TestRun;

/// A transport, with TLS or without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// gRPC in plain text.
    Grpc,
    /// Plain TCP.
    Tcp,
    /// QUIC with a certificate that nobody verifies.
    Quic,
    /// gRPC over TLS.
    GrpcTls,
    /// The messages of plain TCP over TLS.
    TcpTls,
    /// QUIC with a verified certificate.
    QuicTls,
}

impl Way {
    /// All of them.
    pub const ALL: [Way; 6] = [Way::Grpc, Way::Tcp, Way::Quic, Way::GrpcTls, Way::TcpTls, Way::QuicTls];

    /// As `--transport` has it.
    pub fn transport(self) -> &'static str {
        match self {
            Way::Grpc | Way::GrpcTls => "grpc",
            Way::Tcp | Way::TcpTls => "tcp",
            Way::Quic | Way::QuicTls => "quic",
        }
    }

    /// Whether certificates are verified.
    pub fn is_tls(self) -> bool {
        matches!(self, Way::GrpcTls | Way::TcpTls | Way::QuicTls)
    }

    /// With certificates, if it needs any.
    pub fn paved(self) -> PavedWay {
        PavedWay { way: self, certificates: self.is_tls().then(Certificates::new) }
    }
}

/// A way with all that it takes.
pub struct PavedWay {
    /// Which.
    pub way: Way,
    certificates: Option<Certificates>,
}

impl PavedWay {
    /// A node that can be reached this way.
    pub fn node(&self, name: &str, backend: &str, more: &[&str]) -> SutNode {
        let tls = self.certificates.iter().flat_map(Certificates::shown);
        let flags: Vec<&str> = more.iter().copied().chain(tls).collect();
        SutNode::start(name, backend, &flags)
    }

    /// A run that goes this way.
    pub fn on(&self, test: TestRun, nodes: &[SutNode]) -> TestRun {
        let sut: Vec<&str> = nodes.iter().map(|node| node.address.as_str()).collect();
        let test = test.on(&sut.join(",")).args(&["--transport", self.way.transport()]);
        match &self.certificates {
            Some(certificates) => test.args(&certificates.trusted()),
            None => test,
        }
    }
}

/// A CA and a certificate for 127.0.0.1, in files.
pub struct Certificates {
    files: TlsFiles,
    _folder: TempDir,
}

impl Default for Certificates {
    fn default() -> Certificates {
        Certificates::new()
    }
}

impl Certificates {
    /// Of a new CA.
    pub fn new() -> Certificates {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let made = Throwaway::new(&["127.0.0.1"]).expect("a certificate");
        Certificates { files: made.write(folder.path()).expect("files"), _folder: folder }
    }

    /// The flags of who trusts this CA.
    pub fn trusted(&self) -> [&str; 2] {
        ["--tls-ca", path(self.files.ca.as_deref())]
    }

    /// The flags of who shows the certificate.
    pub fn shown(&self) -> [&str; 4] {
        ["--tls-cert", path(self.files.cert.as_deref()), "--tls-key", path(self.files.key.as_deref())]
    }
}

fn path(path: Option<&std::path::Path>) -> &str {
    path.and_then(std::path::Path::to_str).expect("temporary paths are UTF-8")
}
