//! The transport `tcp`: framed messages on a connection of their own, plain or TLS. One task writes and reads.

use lon_net::tls::Protocol;
use tokio::task::JoinSet;

use super::endpoint::Endpoint;
use super::lane_task::LaneTask;
use super::transport::Carry;
use crate::error::ConnectError;

#[derive(Debug)]
pub(super) struct Tcp;

impl Carry for Tcp {
    fn name(&self) -> &'static str {
        "tcp"
    }

    fn protocol(&self) -> &'static str {
        "TCP"
    }

    fn carry(&self, endpoint: Endpoint, lanes: Vec<LaneTask>, tasks: &mut JoinSet<()>) -> Result<(), ConnectError> {
        for lane in lanes {
            let endpoint = endpoint.clone();
            tasks.spawn(async move { lane.carry_over(endpoint.dial(Protocol::Tcp)).await });
        }
        Ok(())
    }
}
