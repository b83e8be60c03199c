//! Control connections: one gRPC connection to each node, tried again while the node is not there yet.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use lon_machine::host::HostNonce;
use lon_net::address::NodeAddress;
use lon_net::clock;
use lon_net::lookup::{Lookup, LookupError};
use lon_net::socket::Network;
use lon_net::tls::ClientTls;
use lon_net::token::Token;
use lon_proto::text::printable;
use tonic::transport::Channel;

use crate::account::traffic::Sockets;
use crate::carry::Endpoint;
use crate::error::{ConnectError, explain};

/// Pause between attempts to reach a node that is not there yet.
pub(super) const RETRY_PAUSE: Duration = Duration::from_millis(100);

/// Settings by which nodes are reached.
#[derive(Clone, Debug)]
pub(crate) struct Reach {
    /// Time to keep trying nodes that are not there yet. Zero: try once.
    pub(crate) wait_ready: Duration,
    /// Longest time of one attempt to connect, or of one control call.
    pub(crate) call_timeout: Duration,
    /// TLS settings that verify nodes; `None`: plain text.
    pub(crate) tls: Option<ClientTls>,
    /// Token for nodes that want one.
    pub(crate) token: Option<Token>,
    /// Lookup of the nodes' names.
    pub(crate) lookup: Lookup,
    /// The key of the ids that nodes tell of their machines.
    pub(crate) nonce: HostNonce,
    /// The network that is used instead of the kernel's TCP, if one was brought.
    pub(crate) network: Option<Arc<dyn Network>>,
}

/// Where a node is: the addresses of its name, all of which may be dialled. On a network that was brought, none. Looks
/// again until `deadline` where nothing is found yet.
///
/// # Errors
/// Nothing is found, or what may not be dialled.
pub(crate) async fn look_up(
    address: &NodeAddress,
    reach: &Reach,
    deadline: Instant,
) -> Result<Vec<SocketAddr>, ConnectError> {
    if reach.network.is_some() {
        return Ok(Vec::new());
    }
    loop {
        match reach.lookup.find(&address.to_string()).await {
            Ok(addresses) => return Ok(addresses),
            Err(LookupError::Elsewhere { address: place, .. }) => {
                return Err(ConnectError::AnotherHost { address: address.clone(), found: place });
            }
            Err(error) if clock::now() >= deadline => {
                return Err(ConnectError::Unreachable {
                    address: address.clone(),
                    reason: printable(&error.to_string()),
                });
            }
            Err(_) => tokio::time::sleep(RETRY_PAUSE).await,
        }
    }
}

/// Connects to `address` at one of `addresses`; tries again until `deadline` when the node is not there yet, wherever
/// its name leads then. A node that `was_there` and has closed its port does not come any more. The connection, and the
/// sockets that it has.
pub(crate) async fn connect(
    address: &NodeAddress,
    mut addresses: Vec<SocketAddr>,
    mut was_there: bool,
    reach: &Reach,
    deadline: Instant,
) -> Result<(Channel, Arc<Sockets>), ConnectError> {
    let Reach { tls, network, .. } = reach;
    let unreachable = |reason| ConnectError::Unreachable { address: address.clone(), reason };
    let waited = deadline.saturating_duration_since(clock::now());
    loop {
        let (tls, network, sockets) = (tls.clone(), network.clone(), Arc::<Sockets>::default());
        let endpoint =
            Endpoint { address: address.clone(), at: addresses, tls, network, sockets: Arc::clone(&sockets) };
        let channel = endpoint.channel(reach.call_timeout);
        match tokio::time::timeout(reach.call_timeout, channel).await {
            Ok(Ok(channel)) => return Ok((channel, sockets)),
            Ok(Err(error)) if was_there && is_closed(&explain(&error)) => {
                return Err(ConnectError::Gone { address: address.clone() });
            }
            Ok(Err(error)) if clock::now() >= deadline => {
                return Err(unreachable(with_advice(explain(&error), waited)));
            }
            Err(_) if clock::now() >= deadline => {
                return Err(unreachable(format!("no connection within {:?}", reach.call_timeout)));
            }
            Ok(Err(error)) => {
                was_there |= is_hang_up(&explain(&error));
                tokio::time::sleep(RETRY_PAUSE).await;
            }
            Err(_) => tokio::time::sleep(RETRY_PAUSE).await,
        }
        addresses = look_up(address, reach, deadline).await?;
    }
}

/// True where nobody listens there, as the error says.
fn is_closed(reason: &str) -> bool {
    reason.contains("Connection refused")
}

/// True where somebody took the connection in and ended it, as the error says.
fn is_hang_up(reason: &str) -> bool {
    ["Connection reset", "Broken pipe", "eof"].iter().any(|part| reason.contains(part))
}

/// Adds advice to the reason when nothing listens there: either it is the wrong address, or it is too early.
fn with_advice(reason: String, waited: Duration) -> String {
    match (is_closed(&reason), waited.is_zero()) {
        (true, true) => format!("{reason}; is it started (sut-node serve)? --wait-ready 60s waits for it"),
        (true, false) => format!("{reason}; is it started (sut-node serve)? --wait-ready has run out"),
        (false, _) => reason,
    }
}
