//! Control connections: one gRPC connection to each node, tried again while the node is not there yet.

use std::sync::Arc;
use std::time::{Duration, Instant};

use lon_net::address::NodeAddress;
use lon_net::clock;
use lon_net::host::HostNonce;
use lon_net::socket::Network;
use lon_net::tls::ClientTls;
use lon_net::token::Token;
use tonic::transport::Channel;

use crate::account::traffic::Sockets;
use crate::carry::Endpoint;
use crate::error::{ConnectError, explain};

/// Pause between attempts to reach a node that is not there yet.
pub(super) const RETRY_PAUSE: Duration = Duration::from_millis(100);

/// How nodes are reached.
#[derive(Clone, Debug)]
pub(crate) struct Reach {
    /// How long to keep trying nodes that are not there yet. Zero: try once.
    pub(crate) wait_ready: Duration,
    /// How long one attempt to connect, or one control call, may take.
    pub(crate) call_timeout: Duration,
    /// How nodes are verified; `None`: plain text.
    pub(crate) tls: Option<ClientTls>,
    /// What nodes are shown that want a token.
    pub(crate) token: Option<Token>,
    /// The key of the ids that nodes tell of their machines.
    pub(crate) nonce: HostNonce,
    /// The network that is used instead of the kernel's TCP, if one was brought.
    pub(crate) network: Option<Arc<dyn Network>>,
}

/// Connects to `address`; tries again until `deadline` when the node is not there yet. The connection, and the
/// counters of what crosses it.
pub(crate) async fn connect(
    address: &NodeAddress,
    reach: &Reach,
    deadline: Instant,
) -> Result<(Channel, Arc<Sockets>), ConnectError> {
    let Reach { tls, network, .. } = reach.clone();
    let endpoint = Endpoint { address: address.clone(), tls, network, sockets: Arc::default() };
    let unreachable = |reason| ConnectError::Unreachable { address: address.clone(), reason };
    let waited = deadline.saturating_duration_since(clock::now());
    loop {
        let channel = endpoint.channel(reach.call_timeout);
        match tokio::time::timeout(reach.call_timeout, channel).await {
            Ok(Ok(channel)) => return Ok((channel, endpoint.sockets)),
            Ok(Err(error)) if clock::now() >= deadline => {
                return Err(unreachable(with_advice(explain(&error), waited)));
            }
            Err(_) if clock::now() >= deadline => {
                return Err(unreachable(format!("no connection within {:?}", reach.call_timeout)));
            }
            _ => tokio::time::sleep(RETRY_PAUSE).await,
        }
    }
}

/// Nobody listens there: either it is the wrong address, or it is too early.
fn with_advice(reason: String, waited: Duration) -> String {
    match (reason.contains("Connection refused"), waited.is_zero()) {
        (true, true) => format!("{reason}; is it started (sut-node serve)? --wait-ready 60s waits for it"),
        (true, false) => format!("{reason}; is it started (sut-node serve)? --wait-ready has run out"),
        (false, _) => reason,
    }
}
