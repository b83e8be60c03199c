//! The transport `tcp`: framed messages on a connection of their own, plain or TLS. One task writes and reads.

use lon_net::flow::{Fill, Source};
use lon_net::tcp::{self, StreamSource};
use lon_net::tls::Protocol;
use tokio::task::JoinSet;
use tonic::Status;

use super::endpoint::Endpoint;
use super::lane_task::LaneTask;
use super::stream::bare_accepted;
use super::transport::{BareStream, Carry};
use crate::error::ConnectError;

#[derive(Debug)]
pub(super) struct Tcp;

impl Carry for Tcp {
    fn name(&self) -> &'static str {
        "tcp"
    }

    fn help(&self) -> &'static str {
        "The same messages over plain TCP"
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

    fn bare_stream(&self, endpoint: Endpoint, fill: Box<dyn Fill>) -> BareStream {
        Box::pin(async move {
            let io = endpoint.dial(Protocol::Tcp).await.map_err(|error| Status::unknown(error.to_string()))?;
            let (reading, mut writing) = tokio::io::split(io);
            // The reader of the stream meets a failure of this write too, so its result is dropped.
            tokio::spawn(async move { tcp::write(&mut writing, fill, None).await });
            let mut source: Box<dyn Source> = Box::new(StreamSource::new(reading));
            let inbound = bare_accepted(&mut source).await?;
            Ok((source, inbound))
        })
    }
}
