//! One run over the nodes: issue, flush, end. The face towards whoever generates the load.

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::future::join_all;
use tokio::sync::Notify;

use crate::config::{Transport, Wait};
use crate::contact::Contact;
use crate::control::ControlThread;
use crate::driver::{Carrier, Opened};
use crate::inflate::Inflaters;
use crate::report::{NodeReport, SutCounts};
use crate::shared::{Node, Shared};
use crate::traffic::NodeTraffic;
use crate::types::{NodeFailure, NodeIndex, Sample};

/// A run that every node has accepted. Dropping it ends it without asking the nodes for their counters.
pub struct Run {
    pub(crate) shared: Arc<Shared>,
    pub(crate) delivered: Arc<Notify>,
    pub(crate) carrier: Option<Carrier>,
    pub(crate) inflaters: Option<Inflaters>,
    pub(crate) control: Arc<ControlThread>,
    pub(crate) controls: Vec<Contact>,
    pub(crate) run_id: Bytes,
    pub(crate) transport: Transport,
}

/// Reads what the connections of a run carry, from any thread, while it goes on and afterwards. Cheap to clone.
#[derive(Clone)]
pub struct Meter(Arc<Shared>);

impl Meter {
    /// Until now, node by node in the order given. The numbers of one node were read one after the other, not all in one
    /// moment.
    pub fn traffic(&self) -> Vec<NodeTraffic> {
        self.0.nodes.iter().map(Node::traffic).collect()
    }
}

impl Run {
    /// Sends samples. Never blocks and can be called from any thread; a sample that cannot be sent fails through the
    /// sink, on this thread, before the call returns. `now` is the time, which the caller has just looked at.
    pub fn issue(&self, samples: impl Iterator<Item = Sample>, now: Instant) {
        self.shared.issue(samples, now);
    }

    /// Sends a sample to this node on this one of its [lanes](Run::lanes) (counted round), however much they hold: that is
    /// for the caller to bound. Otherwise as [`Run::issue`]; it fails when the node was lost.
    pub fn issue_to(&self, node: NodeIndex, lane: usize, sample: Sample, now: Instant) {
        self.shared.issue_to(node, lane, sample, now);
    }

    /// Streams to this node; none when there is no such node.
    pub fn lanes(&self, node: NodeIndex) -> usize {
        self.shared.nodes.get(node.0).map_or(0, |node| node.lanes.len())
    }

    /// What the connections to each node have carried until now; see [`Meter::traffic`].
    pub fn traffic(&self) -> Vec<NodeTraffic> {
        self.meter().traffic()
    }

    /// For another thread to read that while this one has the run.
    pub fn meter(&self) -> Meter {
        Meter(Arc::clone(&self.shared))
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
            let flush = |(node, control): (&Node, Contact)| {
                let (sent, run_id) = (node.samples_sent(), run_id.clone());
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
        let lost = |node: &Node| Some((node.name.clone(), node.lost.get()?.clone()));
        self.shared.nodes.iter().filter_map(lost).collect()
    }

    /// Ends the run: asks every node for its counters, reads until the streams have ended, so that both ends have counted
    /// the same, and gives up on what has no answer by then.
    pub fn end(mut self) -> Vec<NodeReport> {
        let sut = self.ask_counters();
        self.close();
        let nodes = self.shared.nodes.iter().zip(sut);
        let report = |(node, sut): (&Node, Result<SutCounts, String>)| NodeReport {
            name: node.name.clone(),
            counts: node.counts(),
            traffic: node.traffic(),
            sut,
            lost: node.lost.get().cloned(),
            transport: self.transport,
            local: node.sockets.local(),
        };
        nodes.map(report).collect()
    }

    fn ask_counters(&self) -> Vec<Result<SutCounts, String>> {
        // A node may end its streams with the run, which from here on is no loss.
        self.shared.lanes().for_each(crate::lane::Lane::expect_end);
        let ask = |(node, control): (&Node, &Contact)| {
            let lost = node.lost.get().map(ToString::to_string);
            let (control, run_id) = (control.clone(), self.run_id.clone());
            async move {
                match lost {
                    Some(reason) => Err(reason),
                    None => control.end_run(run_id).await,
                }
            }
        };
        let asked = join_all(self.shared.nodes.iter().zip(&self.controls).map(ask));
        let silent = || vec![Err("the control thread is gone".to_owned()); self.shared.nodes.len()];
        self.control.wait(asked).unwrap_or_else(silent)
    }

    /// In the order in which answers travel, so that none of them arrives where nobody is left.
    fn close(&mut self) {
        self.shared.close_lanes();
        if let Some(carrier) = self.carrier.take() {
            carrier.finish();
        }
        self.shared.give_up();
        self.inflaters.take();
        self.shared.nodes.iter().for_each(|node| node.sockets.close());
    }

    /// Which node each lane belongs to, and how opening it went.
    pub(crate) fn wait_open(&self, opened: Vec<Opened>) -> Vec<(NodeIndex, Result<(), NodeFailure>)> {
        self.carrier.as_ref().map(|carrier| carrier.wait_open(opened)).unwrap_or_default()
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        self.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whoever watches a run does so from a thread of its own.
    #[test]
    fn runs_and_meters_are_shared_between_threads() {
        fn shared<T: Send + Sync>() {}
        shared::<Run>();
        shared::<Meter>();
    }
}
