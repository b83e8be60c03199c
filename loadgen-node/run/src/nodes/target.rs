//! The SUT nodes of a test, and how they are reached.

use std::time::Duration;

use lon_net::lookup::Lookup;
use lon_net::tls::ClientTls;
use lon_net::token::Token;
use lon_proto::text::printable;
use qdl::{Config, ConnectError, NodeAddress, NodeIndex, PeerKind, Peers, Qdl, Transport};

use super::security;
use crate::exit::{Exit, Failure, Outcome};

/// Nodes, transport and TLS, checked. Nothing has been sent to a node yet.
#[derive(Clone, Debug)]
pub struct Target {
    /// The nodes, and the transport that carries samples to them.
    pub peers: Peers,
    /// The model of SUT nodes that have several; `None`: the first of each node.
    pub model: Option<String>,
    /// Names of the model's inputs in the order of a sample's tensors, for nodes that do not know samples. Empty: the
    /// nodes say.
    pub inputs: Vec<String>,
    /// TLS settings by which nodes are verified. `None` means plain text, or an unverified certificate over QUIC.
    pub tls: Option<ClientTls>,
    /// Token for nodes that want one.
    pub token: Option<Token>,
    /// True when nodes on other hosts may be reached without TLS. Otherwise such nodes are refused before anything is
    /// sent.
    pub allows_plain_text: bool,
    /// Longest wait for nodes that are not there yet, or are busy. Zero means a single attempt.
    pub wait_ready: Duration,
    /// The nodes as the user wrote them, for messages.
    pub written: String,
}

impl Target {
    /// SUT nodes at these addresses, reached without TLS and without waiting. It is for the caller to decide whether
    /// samples may travel in plain text.
    pub fn new(nodes: Vec<NodeAddress>, transport: Transport) -> Target {
        let node_list = nodes.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
        let peers = Peers::sut_nodes(nodes, transport);
        let (inputs, wait_ready) = (Vec::new(), Duration::ZERO);
        Target {
            peers,
            model: None,
            inputs,
            tls: None,
            token: None,
            allows_plain_text: true,
            wait_ready,
            written: node_list,
        }
    }

    /// Returns the kind of these nodes, which says what they can do.
    pub fn kind(&self) -> PeerKind {
        self.peers.transport().peer_kind()
    }

    /// Reaches every node, and shows each with the model that is asked.
    pub fn connect(&self) -> Outcome<Qdl> {
        let qdl = self.connect_all()?;
        match self.model.as_deref() {
            None => Ok(qdl),
            model => self.of_tenant(&qdl, model, None),
        }
    }

    /// Reaches every node, and shows each with its first model.
    pub fn connect_all(&self) -> Outcome<Qdl> {
        Qdl::connect(self.config()).map_err(|error| self.refused(error))
    }

    /// These nodes, as a tenant of this model sees them.
    pub fn of_tenant(&self, qdl: &Qdl, model: Option<&str>, nodes: Option<&[NodeIndex]>) -> Outcome<Qdl> {
        qdl.of_tenant(model, nodes).map_err(|error| match error {
            ConnectError::NoTenantModel { .. } => Failure { error: error.into(), exit: Exit::Usage },
            error => self.refused(error),
        })
    }

    /// The failure of a connection to the nodes.
    pub fn refused(&self, error: ConnectError) -> Failure {
        security::refused(error, self.peers.transport())
    }

    /// Returns the configuration by which the nodes are reached. Says so in the log when they are to be waited for.
    pub fn config(&self) -> Config {
        let host = nix::unistd::gethostname().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let mut config = Config::new(self.peers.clone());
        config.client = format!("{host} (pid {})", std::process::id());
        config.wait_ready = self.wait_ready;
        config.tls = self.tls.clone();
        config.token = self.token.clone();
        if self.tls.is_none() && !self.allows_plain_text {
            config.lookup = Lookup::on_this_host();
        }
        if !self.wait_ready.is_zero() {
            let at_most_ms = self.wait_ready.as_millis() as u64;
            // A list may be as long as the nodes are many.
            let nodes = printable(&self.written);
            tracing::info!(nodes, at_most_ms, "waiting for SUT nodes");
        }
        config
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_to_another_host_is_refused_before_anything_is_sent() {
        let elsewhere = || Target::new(vec!["192.0.2.7:8000".parse().unwrap()], Transport::GRPC);
        let refused = Target { allows_plain_text: false, ..elsewhere() }.connect();
        let failure = refused.err().unwrap();
        assert_eq!(failure.exit, Exit::Usage);
        assert!(failure.one_line().contains("--insecure"), "{}", failure.one_line());
    }
}
