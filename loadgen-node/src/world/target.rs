//! The SUT nodes of a test, and how they are reached.

use std::time::Duration;

use lon_net::tls::ClientTls;
use qdl::{Config, KserveConfig, NodeAddress, Qdl, Transport};

use crate::exit::{Exit, OrExit as _, Outcome};

/// Nodes, transport and TLS, checked. Nothing has been sent to a node yet.
#[derive(Clone, Debug)]
pub struct Target {
    /// Where the nodes are, in the order in which the SUT's name lists them.
    pub nodes: Vec<NodeAddress>,
    /// What samples and answers travel over.
    pub transport: Transport,
    /// Names of servers and model, for transport KServe.
    pub kserve: Option<KserveConfig>,
    /// Names of the model's inputs in the order of a sample's tensors; for transport KServe. Empty: the server says.
    pub kserve_inputs: Vec<String>,
    /// How nodes are verified. `None`: plain text, or an unverified certificate over QUIC.
    pub tls: Option<ClientTls>,
    /// How long to wait for nodes that are not there yet, or are busy. Zero: try once.
    pub wait_ready: Duration,
    /// The nodes as the user wrote them, for messages.
    pub written: String,
}

impl Target {
    /// SUT nodes at these addresses, reached without TLS and without waiting. It is for the caller to decide whether
    /// samples may travel in plain text.
    pub fn new(nodes: Vec<NodeAddress>, transport: Transport) -> Target {
        let written = nodes.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
        Target {
            nodes,
            transport,
            kserve: None,
            kserve_inputs: Vec::new(),
            tls: None,
            wait_ready: Duration::ZERO,
            written,
        }
    }

    /// Whether the nodes are servers of KServe's protocol.
    pub(crate) fn is_kserve(&self) -> bool {
        self.transport == Transport::Kserve
    }

    /// Reaches every node.
    pub(crate) fn connect(&self) -> Outcome<Qdl> {
        let host = nix::unistd::gethostname().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let mut config = Config::new(self.nodes.clone());
        config.client = format!("{host} (pid {})", std::process::id());
        config.wait_ready = self.wait_ready;
        config.transport = self.transport;
        config.tls = self.tls.clone();
        config.kserve = self.kserve.clone();
        if !self.wait_ready.is_zero() {
            tracing::info!("waiting for SUT nodes at {}, {:?} at most", self.written, self.wait_ready);
        }
        Qdl::connect(config).or_exit(Exit::Network)
    }
}

/// The transport's name on the command line and in documents.
pub(crate) fn name(transport: Transport) -> &'static str {
    match transport {
        Transport::Grpc => "grpc",
        Transport::Quic => "quic",
        Transport::Tcp => "tcp",
        Transport::Kserve => "kserve",
    }
}

/// The protocols that the transport consists of, for a system description.
pub(crate) fn protocol(transport: Transport) -> &'static str {
    match transport {
        Transport::Grpc => "gRPC (HTTP/2) over TCP",
        Transport::Quic => "QUIC over UDP",
        Transport::Tcp => "TCP",
        Transport::Kserve => "Open Inference Protocol (KServe V2), gRPC (HTTP/2) over TCP",
    }
}
