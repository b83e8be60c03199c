//! Control connections: one gRPC connection to each node, tried again while the node is not there yet.

use std::sync::Arc;
use std::time::{Duration, Instant};

use lon_net::address::NodeAddress;
use lon_net::tls::ClientTls;
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
}

/// Connects to `address`; tries again until `deadline` when the node is not there yet. The connection, and the
/// counters of what crosses it.
pub(super) async fn connect(
    address: &NodeAddress,
    reach: &Reach,
    deadline: Instant,
) -> Result<(Channel, Arc<Sockets>), ConnectError> {
    let endpoint = Endpoint { address: address.clone(), tls: reach.tls.clone(), sockets: Arc::default() };
    let unreachable = |reason| ConnectError::Unreachable { address: address.clone(), reason };
    loop {
        let channel = endpoint.channel(reach.call_timeout, |io| io);
        match tokio::time::timeout(reach.call_timeout, channel).await {
            Ok(Ok(channel)) => return Ok((channel, endpoint.sockets)),
            Ok(Err(error)) if Instant::now() >= deadline => return Err(unreachable(explain(&error))),
            Err(_) if Instant::now() >= deadline => {
                return Err(unreachable(format!("no connection within {:?}", reach.call_timeout)));
            }
            _ => tokio::time::sleep(RETRY_PAUSE).await,
        }
    }
}
