//! A lane as a transport gets it: the lane itself, and what opening its stream takes.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use lon_proto::run_identity::RunPass;
use tokio::sync::oneshot;

use super::concurrency_limit::Gate;
use super::declared_outputs::Promise;
use crate::dispatch::{Dispatcher, Lane};
use crate::types::NodeFailure;

/// One lane of a run, to be carried by a transport until its stream is over. A transport over any byte stream calls
/// [`LaneTask::carry_over`]; dropping a lane's task fails its opening.
pub struct LaneTask {
    pub(super) dispatcher: Arc<Dispatcher>,
    pub(super) lane: Arc<Lane>,
    /// The run that the stream joins; its id and secret are in the stream's first message.
    pub(super) pass: RunPass,
    /// Longest time to open the stream.
    pub(super) timeout: Duration,
    /// Form that answers must have, where the node has declared it.
    pub(super) promise: Arc<Promise>,
    pub(super) opened: OpenReport,
}

/// Where a lane reports, once, whether its stream is open.
pub(super) struct OpenReport {
    pub(super) to: oneshot::Sender<Result<(), NodeFailure>>,
    /// Streams are opened in turn where there are many.
    pub(super) gate: Gate,
}

impl OpenReport {
    /// Waits for `open`, from its turn on for as long as `timeout` says, and reports the outcome; `None`: it failed.
    pub(super) async fn wait<T>(
        self,
        timeout: Duration,
        open: impl Future<Output = Result<T, NodeFailure>>,
    ) -> Option<T> {
        let late = |_| Err(NodeFailure::Connection(format!("it did not open the stream within {timeout:?}")));
        let opened = self.gate.pass(async { tokio::time::timeout(timeout, open).await }).await;
        self.send(opened.unwrap_or_else(late))
    }

    /// Reports this outcome; what was opened comes back.
    pub(super) fn send<T>(self, opened: Result<T, NodeFailure>) -> Option<T> {
        let (stream, outcome) = match opened {
            Ok(stream) => (Some(stream), Ok(())),
            Err(failure) => (None, Err(failure)),
        };
        // Fails when the start was given up already; then the outcome does not matter.
        let _ = self.to.send(outcome);
        stream
    }
}
