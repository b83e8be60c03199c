//! A lane over gRPC: one HTTP/2 connection, whose only stream it is. HTTP/2's own task writes.

use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use lon_net::grpc::{self, BodySource};
use lon_net::meter::MeteredIo;
use tonic::Status;
use tonic::codegen::Service as _;

use super::Outgoing;
use crate::error::{explain, failure_of};
use crate::remote::Remote;
use crate::types::NodeFailure;

/// Opens the stream; `outgoing` begins with Open.
pub(super) async fn open(remote: &Remote, outgoing: Outgoing, timeout: Duration) -> Result<BodySource, NodeFailure> {
    let lane = Arc::clone(&outgoing.lane);
    let channel = remote.channel(timeout, move |io| MeteredIo::new(io, Arc::clone(&lane))).await;
    let mut channel = channel.map_err(|error| NodeFailure::Connection(explain(&error)))?;
    let ready = poll_fn(|cx| channel.poll_ready(cx)).await;
    ready.map_err(|error| NodeFailure::Connection(explain(&error)))?;
    let response = channel.call(grpc::request(outgoing)).await;
    let response = response.map_err(|error| failure_of(&Status::from_error(error.into())))?;
    grpc::accepted(response).map_err(|status| failure_of(&status))
}
