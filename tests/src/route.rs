//! The ways that samples can travel, for tests of what must hold on all of them.

use lon_net::throwaway::Throwaway;
use lon_net::tls::{ServerTls, TlsFiles};
use tempfile::TempDir;

use crate::fabric::{self, Host};
use crate::peer::{Behaviour, Peer};
use crate::process::SutNode;
use crate::test_run::TestRun;

/// The transports, as `--transport` has them.
pub const TRANSPORTS: [&str; 3] = ["grpc", "tcp", "quic"];

/// A transport, with TLS or without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
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

impl Route {
    /// All of them.
    pub const ALL: [Route; 6] = [Route::Grpc, Route::Tcp, Route::Quic, Route::GrpcTls, Route::TcpTls, Route::QuicTls];

    /// As `--transport` has it.
    pub fn transport(self) -> &'static str {
        match self {
            Route::Grpc | Route::GrpcTls => "grpc",
            Route::Tcp | Route::TcpTls => "tcp",
            Route::Quic | Route::QuicTls => "quic",
        }
    }

    /// Returns true when certificates are verified.
    pub fn is_tls(self) -> bool {
        matches!(self, Route::GrpcTls | Route::TcpTls | Route::QuicTls)
    }

    /// With certificates, if it needs any.
    pub fn open(self) -> OpenRoute {
        OpenRoute { route: self, certificates: self.is_tls().then(Certificates::new) }
    }
}

/// A way with all that it takes.
pub struct OpenRoute {
    /// Which.
    pub route: Route,
    certificates: Option<Certificates>,
}

impl OpenRoute {
    /// A node that can be reached this way.
    pub fn node(&self, name: &str, backend: &str, more: &[&str]) -> SutNode {
        SutNode::start(name, backend, &self.args_with(more))
    }

    /// The same on an address.
    pub fn node_on(&self, listen: &str, name: &str, backend: &str, more: &[&str]) -> SutNode {
        SutNode::start_on(listen, name, backend, &self.args_with(more))
    }

    /// The same, started by another program that is to become it.
    pub fn node_under(&self, under: &[&str], name: &str, backend: &str, more: &[&str]) -> SutNode {
        SutNode::start_under(under, name, backend, &self.args_with(more))
    }

    /// The same on a host of a fabric.
    pub fn node_in(&self, host: &Host, name: &str, backend: &str, more: &[&str]) -> SutNode {
        SutNode::start_in(host, name, backend, &self.args_with(more))
    }

    /// A peer that can be reached this way.
    pub fn peer(&self, behaviour: Behaviour) -> Peer {
        Peer::start_with(behaviour, self.certificates.as_ref().map(Certificates::server))
    }

    fn args_with<'a>(&'a self, more: &[&'a str]) -> Vec<&'a str> {
        let tls = self.certificates.iter().flat_map(Certificates::server_args);
        more.iter().copied().chain(tls).collect()
    }

    /// A run that goes this way.
    pub fn on(&self, test: TestRun, nodes: &[SutNode]) -> TestRun {
        let sut: Vec<&str> = nodes.iter().map(|node| node.address.as_str()).collect();
        self.to(test, &sut.join(","))
    }

    /// The same to addresses, comma-separated.
    pub fn to(&self, test: TestRun, sut: &str) -> TestRun {
        let test = test.on(sut).args(&["--transport", self.route.transport()]);
        match &self.certificates {
            Some(certificates) => test.args(&certificates.trusted()),
            None => test,
        }
    }
}

/// A CA, a certificate for 127.0.0.1 and the hosts of fabrics, and one for clients, in files.
pub struct Certificates {
    files: TlsFiles,
    client: TlsFiles,
    _folder: TempDir,
}

fn tls_args(files: &TlsFiles) -> [&str; 4] {
    ["--tls-cert", path(files.cert.as_deref()), "--tls-key", path(files.key.as_deref())]
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
        let hosts = fabric::addresses().map(|address| address.to_string());
        let names: Vec<String> = std::iter::once("127.0.0.1".to_owned()).chain(hosts).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let certificate = Throwaway::new(&names).expect("a certificate");
        let [files, client] = [certificate.write(folder.path()), certificate.write_client(folder.path())]
            .map(|files| files.expect("files"));
        Certificates { files, client, _folder: folder }
    }

    /// The flags of who trusts this CA.
    pub fn trusted(&self) -> [&str; 2] {
        ["--tls-ca", path(self.files.ca.as_deref())]
    }

    /// The flags of a node that shows its certificate.
    pub fn server_args(&self) -> [&str; 4] {
        tls_args(&self.files)
    }

    /// The flags of a client that shows its certificate, in which it is called
    /// [`CLIENT_NAME`](lon_net::throwaway::CLIENT_NAME).
    pub fn client_args(&self) -> [&str; 4] {
        tls_args(&self.client)
    }
}

impl Certificates {
    /// For a server in this process.
    pub fn server(&self) -> ServerTls {
        // Without the CA, or clients would have to show a certificate, too.
        ServerTls::new(&TlsFiles { ca: None, ..self.files.clone() }).expect("files that were just written")
    }
}

fn path(path: Option<&std::path::Path>) -> &str {
    path.and_then(std::path::Path::to_str).expect("temporary paths are UTF-8")
}
