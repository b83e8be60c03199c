//! The transport `grpc`: one HTTP/2 connection, whose only stream is the lane's. A task of HTTP/2's own writes.

use std::future::{pending, poll_fn};
use std::sync::Arc;
use std::time::Duration;

use lon_net::framing::Inbound;
use lon_net::grpc::{self, BodySource};
use lon_net::meter::MeteredIo;
use lon_proto::v1::Open;
use tokio::task::JoinSet;
use tonic::Status;
use tonic::codegen::Service as _;

use super::endpoint::Endpoint;
use super::lane_task::LaneTask;
use super::stream::{Outgoing, exchange};
use super::transport::Carry;
use crate::error::{ConnectError, explain, failure_of};
use crate::types::NodeFailure;

#[derive(Debug)]
pub(super) struct Grpc;

impl Carry for Grpc {
    fn name(&self) -> &'static str {
        "grpc"
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
}

async fn carry_lane(endpoint: Endpoint, task: LaneTask) {
    let LaneTask { dispatcher, lane, run_id, timeout, opened, .. } = task;
    let outgoing = Outgoing::new(&dispatcher, &lane, Some(Open { run_id }));
    if let Some(source) = opened.wait(timeout, open(&endpoint, outgoing, timeout)).await {
        exchange(&dispatcher, &lane, source, Inbound::default(), pending()).await;
    }
}

/// Opens the stream; `outgoing` begins with Open.
async fn open(endpoint: &Endpoint, outgoing: Outgoing, timeout: Duration) -> Result<BodySource, NodeFailure> {
    let lane = Arc::clone(&outgoing.lane);
    let channel = endpoint.channel(timeout, move |io| MeteredIo::new(io, Arc::clone(&lane))).await;
    let mut channel = channel.map_err(|error| NodeFailure::Connection(explain(&error)))?;
    let ready = poll_fn(|cx| channel.poll_ready(cx)).await;
    ready.map_err(|error| NodeFailure::Connection(explain(&error)))?;
    let response = channel.call(grpc::request(outgoing)).await;
    let response = response.map_err(|error| failure_of(&Status::from_error(error.into())))?;
    grpc::accepted(response).map_err(|status| failure_of(&status))
}
