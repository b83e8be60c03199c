//! One run over the nodes: issue, flush, end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use lon_net::end_counters::EndCounters;
use lon_proto::run_identity::RunPass;
use tokio::sync::Notify;

use crate::account::now::{NodeNow, NodeRoom};
use crate::account::report::{NodeReport, SutCounts};
use crate::account::traffic::NodeTraffic;
use crate::carry::{IoDriver, Opened, Transport, Wait};
use crate::control::{Control, Peer, all_nodes};
use crate::dispatch::{Dispatcher, Inflaters, Node};
use crate::flushes::Flushes;
use crate::peer_probe::{PeerOrder, PeerResult};
use crate::types::{NodeFailure, NodeIndex, Sample};

/// The longest wait before it is checked whether the caller wants to stop.
const LOOK_AROUND: Duration = Duration::from_millis(50);

/// A run that every node has accepted. Dropping it ends it without asking the nodes for their counters; [`Run::end`]
/// asks.
pub struct Run {
    pub(crate) dispatcher: Arc<Dispatcher>,
    /// Signal of every delivery, for the caller that pumps.
    pub(crate) delivered: Arc<Notify>,
    /// `None` once the run is closed.
    pub(crate) driver: Option<IoDriver>,
    pub(crate) inflaters: Option<Inflaters>,
    pub(crate) control: Arc<Control>,
    pub(crate) peers: Vec<Arc<dyn Peer>>,
    /// Pass that each node wants with each call, in the order of the nodes.
    pub(crate) passes: Vec<RunPass>,
    pub(crate) transport: Transport,
    pub(crate) flushes: Arc<Flushes>,
    /// Longest time of a Flush once the node has answered everything.
    pub(crate) call_timeout: Duration,
}

/// Reads the counters of a run, from any thread, while it goes on and afterwards. Cheap to clone.
#[derive(Clone)]
pub struct Meter(Arc<Dispatcher>);

impl Meter {
    /// The bytes that the connections to each node have carried until now, in the order of the nodes. The numbers are
    /// read one after the other, not at one moment.
    pub fn traffic(&self) -> Vec<NodeTraffic> {
        self.0.nodes.iter().map(Node::traffic).collect()
    }

    /// Returns the state of each node until now, in the order of the nodes.
    pub fn nodes(&self) -> Vec<NodeNow> {
        self.0.nodes.iter().map(Node::now).collect()
    }
}

impl Run {
    /// Sends samples. Never blocks, and can be called from any thread. A sample that cannot be sent fails through the
    /// sink, on this thread, before the call returns. `now` is the present time.
    pub fn issue(&self, samples: impl Iterator<Item = Sample>, now: Instant) {
        self.dispatcher.issue(samples, now);
    }

    /// Sends a sample to this node on this one of its [lanes](Run::lanes) (modulo their number), however much they
    /// hold: the caller bounds that. Otherwise as [`Run::issue`]. The sample fails when the node was lost.
    pub fn issue_to(&self, node: NodeIndex, lane: usize, sample: Sample, now: Instant) {
        self.dispatcher.issue_to(node, lane, sample, now);
    }

    /// The number of lanes to this node; 0 when there is no such node.
    pub fn lanes(&self, node: NodeIndex) -> usize {
        self.dispatcher.nodes.get(node.0).map_or(0, |node| node.lanes.len())
    }

    /// The bytes that the connections to each node have carried until now; see [`Meter::traffic`].
    pub fn traffic(&self) -> Vec<NodeTraffic> {
        self.meter().traffic()
    }

    /// A reader of the counters for another thread.
    pub fn meter(&self) -> Meter {
        Meter(Arc::clone(&self.dispatcher))
    }

    /// Returns the CPU time and counters of both ends of the connections to a node until now: this end's first. The
    /// node's are an error, with the reason, when they are not known. For probes; asks the node.
    pub fn ends(&self, node: NodeIndex) -> (EndCounters, Result<EndCounters, String>) {
        let gone = || Err("there is no such node".to_owned());
        let (Some(of), Some(peer), Some(pass)) =
            (self.dispatcher.nodes.get(node.0), self.peers.get(node.0), self.passes.get(node.0))
        else {
            return (EndCounters::default(), gone());
        };
        let own = EndCounters::now(of.sockets.local(), of.traffic().retransmits, of.sockets.path());
        let (peer, pass) = (Arc::clone(peer), pass.clone());
        let theirs = self.control.wait(async move { peer.probe_counters(&pass).await });
        (own, theirs.unwrap_or_else(gone))
    }

    /// Has a node probe another one, which must not be among those of this run, and waits for what it found, or for
    /// `stop` to turn true. For probes, with a [`crate::Driver`] that needs no pump: the claim lives as long as its
    /// heartbeats. When this returns early, the node stops when the run ends.
    ///
    /// # Errors
    /// The node does not do it, in words; or `stop` turned true.
    pub fn probe_peer(&self, node: NodeIndex, order: &PeerOrder, stop: &Arc<AtomicBool>) -> Result<PeerResult, String> {
        let (Some(peer), Some(pass)) = (self.peers.get(node.0).cloned(), self.passes.get(node.0).cloned()) else {
            return Err("there is no such node".to_owned());
        };
        let (order, stop) = (order.clone(), Arc::clone(stop));
        let answer = async move {
            let mut answer = std::pin::pin!(peer.probe_peer(&pass, &order));
            loop {
                match tokio::time::timeout(LOOK_AROUND, answer.as_mut()).await {
                    Ok(answer) => return answer,
                    Err(_) if stop.load(SeqCst) => return Err("interrupted".to_owned()),
                    Err(_) => {}
                }
            }
        };
        self.control.wait(answer).unwrap_or_else(|| Err("the control thread is gone".to_owned()))
    }

    /// Returns the number of samples that the backlog still takes. After 0 the sink gets a call when there is room
    /// again. Without a backlog (see [`crate::Policy`]) there is always room.
    pub fn room(&self) -> usize {
        self.dispatcher.room()
    }

    /// Returns true when a sample of this many bytes can be sent now without failing for lack of room. It is also true
    /// when no node is left, since then the sample fails for another reason. It says nothing of samples that other
    /// threads send at the same time.
    pub fn takes(&self, bytes: u64) -> bool {
        self.dispatcher.takes(bytes)
    }

    /// Samples that all nodes together hold at most.
    pub fn capacity(&self) -> u64 {
        self.dispatcher.nodes.iter().map(Node::max_samples).sum()
    }

    /// Tells every node, once everything issued has been sent, how many samples it got, so that no node waits for more.
    /// Does not block. May be called once in each phase.
    pub fn flush(&self) {
        self.dispatcher.flushing.store(true, SeqCst);
        self.dispatcher.wake_lanes();
        self.flushes.begin(self.peers.len());
        let (dispatcher, peers, passes) = (Arc::clone(&self.dispatcher), self.peers.clone(), self.passes.clone());
        let flushes = Arc::clone(&self.flushes);
        self.control.spawn(async move {
            while !dispatcher.all_sent() {
                // The pause is for safety: lanes notify when they have nothing left to send.
                let _ = tokio::time::timeout(Duration::from_millis(50), dispatcher.sent_signal.notified()).await;
            }
            dispatcher.flushing.store(false, SeqCst);
            type Flushed<'a> = (&'a Node, (Arc<dyn Peer>, RunPass));
            let flush = |(place, (node, (peer, pass))): (usize, Flushed<'_>)| {
                let (sent, is_lost, flushes) = (node.samples_sent(), node.is_lost(), &flushes);
                async move {
                    let outcome = if is_lost { Ok(()) } else { peer.flush(&pass, sent).await };
                    flushes.end(place, outcome.map_err(|error| error.to_string()));
                }
            };
            // All at one time: a node answers when its last sample is done, and until it is told it may wait for more.
            join_all(dispatcher.nodes.iter().zip(peers.into_iter().zip(passes)).enumerate().map(flush)).await;
        });
    }

    /// Under [`crate::Driver::Inline`]: does the network's work on this thread while it waits, for one turn at least.
    /// With other drivers it returns at once.
    pub fn pump(&self, wait: &Wait) {
        if let Some(driver) = &self.driver {
            driver.pump(&self.dispatcher, &self.delivered, wait);
        }
    }

    /// The names of the nodes that were lost, each with the reason.
    pub fn lost(&self) -> Vec<(String, NodeFailure)> {
        let lost = |node: &Node| Some((node.name.clone(), node.lost.get()?.clone()));
        self.dispatcher.nodes.iter().filter_map(lost).collect()
    }

    /// Ends the run: asks every node for its counters, reads until the streams have ended, so that both ends have
    /// counted the same, and fails the samples that have no answer by then.
    pub fn end(mut self) -> Vec<NodeReport> {
        let rooms: Vec<NodeRoom> = self.dispatcher.nodes.iter().map(Node::room).collect();
        let flushed = self.wait_flushed();
        let sut = self.ask_counters();
        self.close();
        let ends = rooms.into_iter().zip(flushed).zip(sut);
        type End = ((NodeRoom, Result<(), String>), Result<SutCounts, String>);
        let report = |(node, ((room, flushed), sut)): (&Node, End)| NodeReport {
            name: node.name.clone(),
            counts: node.counts(),
            traffic: node.traffic(),
            room,
            sut,
            lost: node.lost.get().cloned(),
            stalls: node.stalls(),
            peer_kind: self.transport.peer_kind(),
            counts_resends: self.transport.counts_resends(),
            local: node.sockets.local(),
            flushed,
        };
        self.dispatcher.nodes.iter().zip(ends).map(report).collect()
    }

    /// Waits a moment for nodes that have answered everything to come back from Flush; what each has made of it. A node
    /// that is lost, or left samples without an answer, is not waited for: that is worse, and told.
    fn wait_flushed(&self) -> Vec<Result<(), String>> {
        let (dispatcher, flushes, patience) =
            (Arc::clone(&self.dispatcher), Arc::clone(&self.flushes), self.call_timeout);
        let are_due =
            move |place: usize| dispatcher.nodes.get(place).is_some_and(|node| !node.is_lost() && node.is_done());
        let due: Vec<bool> = (0..self.peers.len()).map(&are_due).collect();
        self.control.wait(async move {
            // The code below finds the calls that are not over by then.
            let _ = tokio::time::timeout(patience, flushes.wait(are_due)).await;
        });
        let outcome = |(place, is_due): (usize, bool)| match self.flushes.of(place) {
            (_, Some(failure)) => Err(failure),
            (true, None) if is_due => Err(format!("it did not return within {patience:?} after the last answer")),
            _ => Ok(()),
        };
        due.into_iter().enumerate().map(outcome).collect()
    }

    fn ask_counters(&self) -> Vec<Result<SutCounts, String>> {
        // A node may end its streams when it is told that the run is over.
        self.dispatcher.expect_ends();
        let ask = |(node, (peer, pass)): (&Node, (&Arc<dyn Peer>, &RunPass))| {
            let lost = node.lost.get().map(ToString::to_string);
            let (peer, pass) = (Arc::clone(peer), pass.clone());
            async move {
                match lost {
                    Some(reason) => Err(reason),
                    None => peer.end_run(&pass).await,
                }
            }
        };
        let calls: Vec<_> = self.dispatcher.nodes.iter().zip(self.peers.iter().zip(&self.passes)).map(ask).collect();
        let answers = async move { all_nodes::all(calls.into_iter()).await };
        let silent = || vec![Err("the control thread is gone".to_owned()); self.dispatcher.nodes.len()];
        self.control.wait(answers).unwrap_or_else(silent)
    }

    /// Ends the parts in the order in which answers pass them, so that no part gets an answer after its end.
    fn close(&mut self) {
        self.dispatcher.close_lanes();
        if let Some(driver) = self.driver.take() {
            driver.finish();
        }
        self.dispatcher.give_up();
        self.inflaters.take();
        self.dispatcher.nodes.iter().for_each(|node| node.sockets.close());
    }

    /// Waits until every lane is open or has failed; the node and the outcome of each.
    pub(crate) fn wait_open(&self, opened: Vec<Opened>) -> Vec<(NodeIndex, Result<(), NodeFailure>)> {
        self.driver.as_ref().map(|driver| driver.wait_open(opened)).unwrap_or_default()
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

    /// A run is watched from another thread than its own.
    #[test]
    fn runs_and_meters_are_shared_between_threads() {
        fn shared<T: Send + Sync>() {}
        shared::<Run>();
        shared::<Meter>();
    }
}
