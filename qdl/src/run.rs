//! One run over the nodes: issue, flush, end. The face towards whoever generates the load.

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::future::join_all;
use lon_proto::v1::EndRunResponse;
use tokio::sync::Notify;

use crate::config::Wait;
use crate::control::{Control, ControlThread};
use crate::counters::NodeCounts;
use crate::driver::Carrier;
use crate::shared::Shared;
use crate::types::{NodeFailure, Sample};

/// A run that every node has accepted. Dropping it ends it without asking the nodes for their counters.
pub struct Run {
    pub(crate) shared: Arc<Shared>,
    pub(crate) delivered: Arc<Notify>,
    pub(crate) carrier: Option<Carrier>,
    pub(crate) control: Arc<ControlThread>,
    pub(crate) controls: Vec<Control>,
    pub(crate) run_id: Bytes,
}

/// What became of the run at one node.
#[derive(Clone, Debug)]
pub struct NodeReport {
    /// The node's name.
    pub name: String,
    /// What was counted here.
    pub counts: NodeCounts,
    /// What the node counted, or why it could not be asked.
    pub sut: Result<SutCounts, String>,
    /// Why it is no longer used.
    pub lost: Option<NodeFailure>,
}

/// A node's own counters for the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SutCounts {
    /// Samples that came in whole.
    pub samples_received: u64,
    /// Samples answered, failed ones among them.
    pub samples_answered: u64,
    /// Samples answered with an error.
    pub samples_failed: u64,
    /// Serialized Dispatch messages in; Open not among them.
    pub message_bytes_in: u64,
    /// Serialized Dispatch messages out; heartbeats not among them.
    pub message_bytes_out: u64,
    /// Sample bytes inside them.
    pub payload_bytes_in: u64,
    /// Answer bytes inside them.
    pub payload_bytes_out: u64,
}

impl Run {
    /// Sends samples. Never blocks and can be called from any thread; a sample that cannot be sent fails through the
    /// sink, on this thread, before the call returns. `now` is the time, which the caller has just looked at.
    pub fn issue(&self, samples: impl Iterator<Item = Sample>, now: Instant) {
        self.shared.issue(samples, now);
    }

    /// How many more samples the backlog takes; the sink hears of it when there is room again. Without a backlog
    /// (see [`crate::Policy`]) there is always room.
    pub fn room(&self) -> usize {
        self.shared.room()
    }

    /// Samples that all nodes together take in before they are full.
    pub fn capacity(&self) -> u64 {
        self.shared.nodes.iter().map(|node| node.max_samples).sum()
    }

    /// Tells every node, once everything issued has been sent, how many samples it got, so that none of them waits
    /// for more. Does not block; may be called once per phase.
    pub fn flush(&self) {
        self.shared.flushing.store(true, SeqCst);
        self.shared.wake_lanes();
        let (shared, controls, run_id) = (Arc::clone(&self.shared), self.controls.clone(), self.run_id.clone());
        self.control.spawn(async move {
            while !shared.all_sent() {
                // The pause is for safety only: lanes tell when they have nothing left.
                let _ = tokio::time::timeout(Duration::from_millis(50), shared.sent.notified()).await;
            }
            shared.flushing.store(false, SeqCst);
            let flush = |(node, control): (&crate::shared::Node, Control)| {
                let (sent, run_id) = (node.counters.samples_sent(), run_id.clone());
                async move {
                    if let Err(error) = control.flush(run_id, sent).await {
                        tracing::debug!("{error}");
                    }
                }
            };
            let left = shared.nodes.iter().zip(controls).filter(|(node, _)| node.lost.get().is_none());
            join_all(left.map(flush)).await;
        });
    }

    /// Under [`crate::Driver::Inline`]: does the network's work on this thread while it waits, for one turn at least.
    /// Otherwise returns at once.
    pub fn pump(&self, wait: &Wait) {
        if let Some(carrier) = &self.carrier {
            carrier.pump(&self.shared, &self.delivered, wait);
        }
    }

    /// Nodes that were lost, with the reason.
    pub fn lost(&self) -> Vec<(String, NodeFailure)> {
        let lost = |node: &crate::shared::Node| Some((node.name.clone(), node.lost.get()?.clone()));
        self.shared.nodes.iter().filter_map(lost).collect()
    }

    /// Ends the run: gives up on what is still outstanding, asks every node for its counters, ends the streams.
    pub fn end(mut self) -> Vec<NodeReport> {
        let sut = self.ask_counters();
        self.close();
        let nodes = self.shared.nodes.iter().zip(sut);
        let report = |(node, sut): (&crate::shared::Node, Result<SutCounts, String>)| NodeReport {
            name: node.name.clone(),
            counts: node.counters.read(),
            sut,
            lost: node.lost.get().cloned(),
        };
        nodes.map(report).collect()
    }

    fn ask_counters(&self) -> Vec<Result<SutCounts, String>> {
        // A node may end its streams with the run, which from here on is no loss.
        self.shared.lanes().for_each(crate::lane::Lane::expect_end);
        let ask = |(node, control): (&crate::shared::Node, &Control)| {
            let lost = node.lost.get().map(ToString::to_string);
            let (control, run_id) = (control.clone(), self.run_id.clone());
            async move {
                match lost {
                    Some(reason) => Err(reason),
                    None => control.end_run(run_id).await.map(SutCounts::from).map_err(|error| error.to_string()),
                }
            }
        };
        let asked = join_all(self.shared.nodes.iter().zip(&self.controls).map(ask));
        let silent = || vec![Err("the control thread is gone".to_owned()); self.shared.nodes.len()];
        self.control.wait(asked).unwrap_or_else(silent)
    }

    fn close(&mut self) {
        self.shared.give_up();
        if let Some(carrier) = self.carrier.take() {
            carrier.finish();
        }
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        self.close();
    }
}

impl From<EndRunResponse> for SutCounts {
    fn from(response: EndRunResponse) -> SutCounts {
        SutCounts {
            samples_received: response.samples_received,
            samples_answered: response.samples_answered,
            samples_failed: response.samples_failed,
            message_bytes_in: response.message_bytes_in,
            message_bytes_out: response.message_bytes_out,
            payload_bytes_in: response.payload_bytes_in,
            payload_bytes_out: response.payload_bytes_out,
        }
    }
}
