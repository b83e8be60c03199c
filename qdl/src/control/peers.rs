//! The nodes as the caller gives them, and how all of them are reached.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use lon_net::address::NodeAddress;
use lon_net::clock;

use super::all_nodes;
use super::connect::{RETRY_PAUSE, Reach, connect, look_up};
use super::kserve::Server;
use super::peer::Peer;
use super::sut_node::SutNode;
use crate::carry::Transport;
use crate::error::ConnectError;
use crate::peer_kind::PeerKind;

/// The nodes of a SUT, in the order in which its name lists them, and the transport that carries samples to them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peers {
    addresses: Vec<NodeAddress>,
    transport: Transport,
    kind: Kind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    SutNodes,
    /// With the names of the servers, as many as addresses, and the model that is asked for.
    Kserve {
        names: Vec<String>,
        model: String,
    },
}

/// A server of KServe's protocol. Such servers have no names of their own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KserveServer {
    /// The caller's name for it.
    pub name: String,
    /// Where it is.
    pub address: NodeAddress,
}

impl Peers {
    /// SUT nodes, which say their names themselves. With a transport that reaches no SUT nodes
    /// ([`Transport::KSERVE`]) connecting fails.
    pub fn sut_nodes(addresses: Vec<NodeAddress>, transport: Transport) -> Peers {
        Peers { addresses, transport, kind: Kind::SutNodes }
    }

    /// Servers that speak KServe's protocol, asked for `model` by the name that they know it by. The transport is
    /// [`Transport::KSERVE`].
    pub fn kserve(servers: Vec<KserveServer>, model: String) -> Peers {
        let (names, addresses) = servers.into_iter().map(|server| (server.name, server.address)).unzip();
        Peers { addresses, transport: Transport::KSERVE, kind: Kind::Kserve { names, model } }
    }

    /// Where the nodes are.
    pub fn addresses(&self) -> &[NodeAddress] {
        &self.addresses
    }

    /// Returns the transport of samples and answers. Control calls always go over gRPC.
    pub fn transport(&self) -> Transport {
        self.transport
    }

    /// The names that the caller gave; empty for nodes that name themselves.
    pub(crate) fn names(&self) -> &[String] {
        match &self.kind {
            Kind::SutNodes => &[],
            Kind::Kserve { names, .. } => names,
        }
    }

    /// Returns true when the transport reaches nodes of this kind.
    pub(crate) fn fit_transport(&self) -> bool {
        let kind = match self.kind {
            Kind::SutNodes => PeerKind::SUT_NODE,
            Kind::Kserve { .. } => PeerKind::KSERVE_SERVER,
        };
        self.transport.peer_kind() == kind
    }

    /// All nodes, in their order, each with its name: a node that does not say its name is not there yet. None is
    /// dialled before it is known of all that they may be.
    pub(crate) async fn reach_all(&self, reach: &Reach) -> Result<Vec<(Arc<dyn Peer>, String)>, ConnectError> {
        let deadline = clock::now() + reach.wait_ready;
        let lookups =
            all_nodes::try_all(self.addresses.iter().map(|address| look_up(address, reach, deadline))).await?;
        let lookups = lookups.into_iter().enumerate();
        all_nodes::try_all(lookups.map(|(index, addresses)| self.reach(index, addresses, reach, deadline))).await
    }

    /// Connects and asks for the name, again and again until `wait_ready` has passed when the node is not there yet. A
    /// port that accepts and says nothing is a node that still loads, or something in front of one. Such a node that
    /// closes its port has ended.
    async fn reach(
        &self,
        index: usize,
        addresses: Vec<SocketAddr>,
        reach: &Reach,
        deadline: Instant,
    ) -> Result<(Arc<dyn Peer>, String), ConnectError> {
        let mut peer = self.connect(index, addresses, false, reach, deadline).await?;
        loop {
            match peer.first_name().await {
                Ok(name) => return Ok((peer, name)),
                Err(error) if !error.may_pass() || clock::now() >= deadline => return Err(error),
                Err(error) => {
                    tracing::debug!(%error, "not there yet");
                    tokio::time::sleep(RETRY_PAUSE).await;
                    // A connection on which nothing was answered is not used again.
                    if !matches!(error, ConnectError::NotReady { .. }) {
                        let addresses = look_up(&self.addresses[index], reach, deadline).await?;
                        peer = self.connect(index, addresses, true, reach, deadline).await?;
                    }
                }
            }
        }
    }

    async fn connect(
        &self,
        index: usize,
        addresses: Vec<SocketAddr>,
        was_there: bool,
        reach: &Reach,
        deadline: Instant,
    ) -> Result<Arc<dyn Peer>, ConnectError> {
        let address = &self.addresses[index];
        let connection = connect(address, addresses, was_there, reach, deadline).await?;
        Ok(match &self.kind {
            Kind::SutNodes => Arc::new(SutNode::new(address, connection, reach)),
            Kind::Kserve { names, model } => Arc::new(Server::new(address, &names[index], model, connection, reach)),
        })
    }
}
