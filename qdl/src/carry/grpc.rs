//! The transport `grpc`: one HTTP/2 connection, whose only stream is the lane's. A task of HTTP/2's own writes.

use std::future::{pending, poll_fn};
use std::sync::Arc;
use std::time::Duration;

use lon_net::flow::{Fill, Source};
use lon_net::framing::Inbound;
use lon_net::grpc::{self, BodySource};
use lon_net::meter::MeteredIo;
use tokio::task::JoinSet;
use tonic::Status;
use tonic::codegen::Service as _;
use tonic::transport::Error;

use super::endpoint::Endpoint;
use super::lane_task::LaneTask;
use super::stream::{Outgoing, exchange};
use super::transport::{BareStream, Carry};
use crate::error::{ConnectError, explain, failure_of};
use crate::types::NodeFailure;

#[derive(Debug)]
pub(super) struct Grpc;

impl Carry for Grpc {
    fn name(&self) -> &'static str {
        "grpc"
    }

    fn help(&self) -> &'static str {
        "HTTP/2: one bidirectional stream per connection"
    }

    fn protocol(&self) -> &'static str {
        "gRPC (HTTP/2) over TCP"
    }

    fn carry(&self, endpoint: Endpoint, lanes: Vec<LaneTask>, tasks: &mut JoinSet<()>) -> Result<(), ConnectError> {
        for lane in lanes {
            tasks.spawn(carry_lane(endpoint.clone(), lane));
        }
        Ok(())
    }

    fn bare_stream(&self, endpoint: Endpoint, fill: Box<dyn Fill>) -> BareStream {
        Box::pin(async move {
            let broken = |error: Error| Status::unknown(explain(&error));
            let mut channel = endpoint.channel(CONNECT_TIMEOUT).await.map_err(broken)?;
            poll_fn(|cx| channel.poll_ready(cx)).await.map_err(broken)?;
            let response = channel.call(grpc::request(fill)).await.map_err(|error| Status::from_error(error.into()))?;
            Ok((Box::new(grpc::accepted(response)?) as Box<dyn Source>, Inbound::default()))
        })
    }
}

/// Longest time to connect for a bare stream. The caller that opens the stream has a limit for the whole.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(60);

async fn carry_lane(endpoint: Endpoint, task: LaneTask) {
    let LaneTask { dispatcher, lane, pass, timeout, opened, .. } = task;
    let outgoing = Outgoing::new(&dispatcher, &lane, Some(pass.open()));
    if let Some(source) = opened.wait(timeout, open(&endpoint, outgoing, timeout)).await {
        exchange(&dispatcher, &lane, source, Inbound::default(), pending()).await;
    }
}

/// Opens the stream; `outgoing` begins with Open.
async fn open(endpoint: &Endpoint, outgoing: Outgoing, timeout: Duration) -> Result<BodySource, NodeFailure> {
    let lane = Arc::clone(&outgoing.lane);
    let channel = endpoint.channel_through(timeout, move |io| Box::new(MeteredIo::new(io, Arc::clone(&lane)))).await;
    let mut channel = channel.map_err(|error| NodeFailure::Connection(explain(&error)))?;
    let ready = poll_fn(|cx| channel.poll_ready(cx)).await;
    ready.map_err(|error| NodeFailure::Connection(explain(&error)))?;
    let response = channel.call(grpc::request(outgoing)).await;
    let response = response.map_err(|error| failure_of(&Status::from_error(error.into())))?;
    grpc::accepted(response).map_err(|status| failure_of(&status))
}
