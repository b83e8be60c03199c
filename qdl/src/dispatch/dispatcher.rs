//! What the threads of a run share: the nodes with their lanes, the backlog, the sink.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

use tokio::sync::Notify;

use crate::config::Policy;
use crate::counters::NodeCounts;
use crate::inflate::Inflated;
use crate::lane::Lane;
use crate::traffic::{NodeTraffic, Sockets};
use crate::types::{Failure, NodeFailure, NodeIndex, Outcome, Reply, Sample, Sink};
use crate::window::PullWindow;

/// Samples the backlog takes before [`crate::Run::room`] says stop.
pub(crate) const BACKLOG_SAMPLES: usize = 8 << 10;
/// Samples a writer takes from the backlog at once, so that others get their turn.
const PULL_SAMPLES: u64 = 32;

pub(crate) struct Shared {
    pub(crate) policy: Policy,
    /// Whoever issues also drives the lanes.
    inline: bool,
    pub(crate) nodes: Vec<Node>,
    pub(crate) sink: Arc<dyn Sink>,
    backlog: Mutex<VecDeque<Sample>>,
    /// The caller found the backlog full and waits to hear of room.
    starved: AtomicBool,
    /// Where the search for the least outstanding starts, so that equals take turns.
    turn: AtomicUsize,
    /// A flush waits for everything to be sent.
    pub(crate) flushing: AtomicBool,
    pub(crate) sent: Notify,
}

pub(crate) struct Node {
    pub(crate) name: String,
    pub(crate) lanes: Vec<Arc<Lane>>,
    /// What carries its lanes.
    pub(crate) sockets: Arc<Sockets>,
    /// What is inflated of its answers, when they have a codec.
    pub(crate) inflated: Option<Arc<Inflated>>,
    pub(crate) lost: OnceLock<NodeFailure>,
    pub(crate) max_samples: u64,
    pub(crate) max_bytes: u64,
    pub(crate) window: Mutex<PullWindow>,
}

impl Node {
    /// Samples that were assigned and have not ended, those among them whose answers wait to be inflated.
    fn outstanding(&self) -> u64 {
        let waiting = self.inflated.as_ref().map_or(0, |inflated| inflated.waiting());
        self.lanes.iter().map(|lane| lane.outstanding()).sum::<u64>() + waiting
    }

    /// Samples sent in full so far.
    pub(crate) fn samples_sent(&self) -> u64 {
        self.lanes.iter().map(|lane| lane.counters.samples_sent()).sum()
    }

    /// What was counted until now. From any thread.
    pub(crate) fn counts(&self) -> NodeCounts {
        let mut counts: NodeCounts = self.lanes.iter().map(|lane| lane.counters.read()).sum();
        if let Some(inflated) = &self.inflated {
            counts.tensor_bytes_in = inflated.tensor_bytes();
            counts.not_inflated = inflated.missed();
        }
        counts
    }

    /// What has crossed its connections until now. From any thread.
    pub(crate) fn traffic(&self) -> NodeTraffic {
        self.sockets.traffic(&self.counts())
    }

    fn outstanding_bytes(&self) -> u64 {
        self.lanes.iter().map(|lane| lane.outstanding_bytes()).sum()
    }

    fn has_room_for(&self, bytes: u64) -> bool {
        let samples = self.outstanding();
        samples == 0 || (samples < self.max_samples && self.outstanding_bytes() + bytes <= self.max_bytes)
    }
}

impl Shared {
    pub(crate) fn new(policy: Policy, inline: bool, nodes: Vec<Node>, sink: Arc<dyn Sink>) -> Shared {
        Shared {
            policy,
            inline,
            nodes,
            sink,
            backlog: Mutex::default(),
            starved: AtomicBool::new(false),
            turn: AtomicUsize::new(0),
            flushing: AtomicBool::new(false),
            sent: Notify::new(),
        }
    }

    /// Sends samples on their way; what cannot go anywhere fails at once, through the sink.
    pub(crate) fn issue(&self, samples: impl Iterator<Item = Sample>, now: Instant) {
        let mut refused = Vec::new();
        match self.policy {
            Policy::LeastOutstanding => {
                for sample in samples {
                    refused.extend(self.assign(sample, now));
                }
            }
            Policy::Pull => self.extend_backlog(samples, &mut refused),
        }
        if !refused.is_empty() {
            self.sink.replies(&mut refused);
        }
    }

    /// Sends a sample on this lane of this node, whatever they hold.
    pub(crate) fn issue_to(&self, index: NodeIndex, lane: usize, sample: Sample, now: Instant) {
        let Some(node) = self.nodes.get(index.0) else {
            return self.sink.replies(&mut vec![refuse(&sample, Failure::NoNode)]);
        };
        let lane = &node.lanes[lane % node.lanes.len()];
        match lane.push(sample, now) {
            Ok(true) => self.filled(lane),
            Ok(false) => {}
            Err(back) => self.sink.replies(&mut vec![Reply { node: Some(index), ..refuse(&back, Failure::NodeLost) }]),
        }
    }

    fn extend_backlog(&self, samples: impl Iterator<Item = Sample>, refused: &mut Vec<Reply>) {
        let mut backlog = self.backlog();
        backlog.extend(samples);
        if self.all_lost() {
            refused.extend(backlog.drain(..).map(|sample| refuse(&sample, Failure::NoNode)));
        }
        drop(backlog);
        self.wake_lanes();
    }

    /// Gives a sample to the lane with the least outstanding of the node with the least outstanding.
    fn assign(&self, mut sample: Sample, now: Instant) -> Option<Reply> {
        loop {
            let Some(node) = self.least_outstanding() else {
                return Some(refuse(&sample, Failure::NoNode));
            };
            if !node.has_room_for(sample.payload.len() as u64) {
                return Some(refuse(&sample, Failure::Overload));
            }
            // By bytes first: behind a large sample a small one would wait.
            let lane = node.lanes.iter().min_by_key(|lane| (lane.outstanding_bytes(), lane.outstanding()))?;
            match lane.push(sample, now) {
                Ok(idle) => {
                    if idle {
                        self.filled(lane);
                    }
                    return None;
                }
                // The node was lost in between; look again without it.
                Err(back) => sample = back,
            }
        }
    }

    fn least_outstanding(&self) -> Option<&Node> {
        let start = self.turn.fetch_add(1, Relaxed);
        let count = self.nodes.len();
        let in_turn = (0..count).map(|offset| &self.nodes[(start + offset) % count]);
        in_turn.filter(|node| node.lost.get().is_none()).min_by_key(|node| node.outstanding())
    }

    /// Moves samples from the backlog to a lane, as many as its node's window allows; true when there were any.
    pub(crate) fn refill(&self, lane: &Lane) -> bool {
        if self.policy != Policy::Pull {
            return false;
        }
        let node = &self.nodes[lane.node.0];
        let (outstanding, bytes) = (node.outstanding(), node.outstanding_bytes());
        let window = node.window.lock().unwrap_or_else(PoisonError::into_inner).room(outstanding, bytes);
        let mut backlog = self.backlog();
        let take = window.min(PULL_SAMPLES).min(backlog.len() as u64) as usize;
        let was = backlog.len();
        let now = Instant::now();
        for _ in 0..take {
            let Some(sample) = backlog.pop_front() else { break };
            if let Err(back) = lane.push(sample, now) {
                backlog.push_front(back);
                return false;
            }
        }
        let left = backlog.len();
        drop(backlog);
        if left < was && left <= BACKLOG_SAMPLES / 2 && self.starved.swap(false, SeqCst) {
            self.sink.room();
        }
        take > 0
    }

    /// How many more samples [`Shared::issue`] takes without holding more than it should.
    pub(crate) fn room(&self) -> usize {
        if self.policy != Policy::Pull {
            return usize::MAX;
        }
        let room = BACKLOG_SAMPLES.saturating_sub(self.backlog().len());
        if room == 0 {
            self.starved.store(true, SeqCst);
        }
        room
    }

    pub(crate) fn all_sent(&self) -> bool {
        let lanes_done = |node: &Node| node.lanes.iter().all(|lane| lane.all_sent());
        self.backlog().is_empty() && self.nodes.iter().all(lanes_done)
    }

    /// Marks a node as lost, once, and fails what it held.
    pub(crate) fn lose(&self, index: NodeIndex, failure: &NodeFailure) {
        let node = &self.nodes[index.0];
        if node.lost.set(failure.clone()).is_err() {
            return;
        }
        tracing::error!("node {} is lost: {failure}", node.name);
        self.sink.node_lost(index, failure);
        let mut replies = Vec::new();
        let now = Instant::now();
        for lane in &node.lanes {
            lane.fail_all(now, &Failure::NodeLost, &mut replies);
        }
        if self.all_lost() {
            replies.extend(self.backlog().drain(..).map(|sample| refuse(&sample, Failure::NoNode)));
        }
        self.sink.replies(&mut replies);
        self.sent.notify_one();
    }

    /// Gives up on whatever is left: the run is over.
    pub(crate) fn give_up(&self) {
        let mut replies: Vec<Reply> =
            self.backlog().drain(..).map(|sample| refuse(&sample, Failure::RunEnded)).collect();
        let now = Instant::now();
        for lane in self.lanes() {
            lane.fail_all(now, &Failure::RunEnded, &mut replies);
        }
        if !replies.is_empty() {
            self.sink.replies(&mut replies);
        }
    }

    /// Samples of this node have ended elsewhere than in their lanes, which may pull more.
    pub(crate) fn has_room(&self, index: NodeIndex) {
        if self.policy == Policy::Pull {
            self.nodes[index.0].lanes.iter().for_each(|lane| lane.wake());
        }
    }

    /// Ends every stream in good order, once what was begun to be written has been.
    pub(crate) fn close_lanes(&self) {
        self.lanes().for_each(Lane::close);
    }

    /// There is something for every lane to look at.
    pub(crate) fn wake_lanes(&self) {
        self.lanes().for_each(|lane| self.filled(lane));
    }

    /// Wakes the lane's writer; when the caller's own thread drives it, the next time it does.
    fn filled(&self, lane: &Lane) {
        if self.inline {
            lane.filled.store(true, Relaxed);
        } else {
            lane.wake();
        }
    }

    /// Wakes the writers of lanes that have been filled since the last time.
    pub(crate) fn wake_filled(&self) {
        self.lanes().filter(|lane| lane.filled.swap(false, Relaxed)).for_each(Lane::wake);
    }

    pub(crate) fn lanes(&self) -> impl Iterator<Item = &Lane> {
        self.nodes.iter().flat_map(|node| node.lanes.iter().map(Arc::as_ref))
    }

    fn all_lost(&self) -> bool {
        self.nodes.iter().all(|node| node.lost.get().is_some())
    }

    fn backlog(&self) -> MutexGuard<'_, VecDeque<Sample>> {
        self.backlog.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn refuse(sample: &Sample, failure: Failure) -> Reply {
    Reply { id: sample.id, node: None, sent_at: None, at: Instant::now(), outcome: Outcome::Failed(failure) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::SampleId;
    use bytes::Bytes;

    #[derive(Default)]
    struct Kept(Mutex<Vec<Reply>>);

    impl Sink for Kept {
        fn replies(&self, replies: &mut Vec<Reply>) {
            self.0.lock().unwrap().append(replies);
        }
        fn node_lost(&self, _: NodeIndex, _: &NodeFailure) {}
    }

    fn node(index: usize, max_samples: u64, floor: u64) -> Node {
        Node {
            name: format!("N{index}"),
            lanes: vec![Arc::new(Lane::new(NodeIndex(index), 1 << 20))],
            sockets: Arc::default(),
            inflated: None,
            lost: OnceLock::new(),
            max_samples,
            max_bytes: 1 << 20,
            window: Mutex::new(PullWindow::new(floor, max_samples)),
        }
    }

    fn shared(policy: Policy) -> (Shared, Arc<Kept>) {
        let kept = Arc::new(Kept::default());
        (Shared::new(policy, false, vec![node(0, 3, 2), node(1, 3, 2)], kept.clone()), kept)
    }

    fn samples(count: u64) -> impl Iterator<Item = Sample> {
        (0..count).map(|id| Sample { id: SampleId(id), payload: Bytes::from_static(b"x"), tensor_bytes: 1 })
    }

    #[test]
    fn samples_go_where_least_is_outstanding_and_fail_when_all_is_full() {
        let (shared, kept) = shared(Policy::LeastOutstanding);
        shared.issue(samples(4), Instant::now());
        assert_eq!(shared.lanes().map(Lane::outstanding).collect::<Vec<_>>(), [2, 2]);
        shared.issue(samples(3), Instant::now());
        let failed = kept.0.lock().unwrap();
        assert_eq!(failed.len(), 1);
        assert!(matches!(failed[0].outcome, Outcome::Failed(Failure::Overload)));
    }

    #[test]
    fn what_is_sent_to_one_lane_goes_there_however_full_it_is() {
        let (shared, kept) = shared(Policy::LeastOutstanding);
        for sample in samples(9) {
            shared.issue_to(NodeIndex(1), 4, sample, Instant::now());
        }
        assert_eq!(shared.lanes().map(Lane::outstanding).collect::<Vec<_>>(), [0, 9]);
        shared.lose(NodeIndex(1), &NodeFailure::Ended("test".into()));
        kept.0.lock().unwrap().clear();
        samples(1).for_each(|sample| shared.issue_to(NodeIndex(1), 0, sample, Instant::now()));
        samples(1).for_each(|sample| shared.issue_to(NodeIndex(2), 0, sample, Instant::now()));
        let replies = kept.0.lock().unwrap();
        let failure = |reply: &Reply| match &reply.outcome {
            Outcome::Failed(failure) => failure.clone(),
            outcome => panic!("{outcome:?}"),
        };
        assert_eq!(replies.iter().map(failure).collect::<Vec<_>>(), [Failure::NodeLost, Failure::NoNode]);
    }

    #[test]
    fn a_lost_node_gets_nothing_and_its_samples_fail() {
        let (shared, kept) = shared(Policy::LeastOutstanding);
        shared.issue(samples(2), Instant::now());
        shared.lose(NodeIndex(0), &NodeFailure::Ended("test".into()));
        assert_eq!(kept.0.lock().unwrap().len(), 1);
        shared.issue(samples(1), Instant::now());
        assert_eq!(shared.lanes().map(Lane::outstanding).collect::<Vec<_>>(), [0, 2]);
        shared.lose(NodeIndex(1), &NodeFailure::Ended("test".into()));
        shared.issue(samples(1), Instant::now());
        let replies = kept.0.lock().unwrap();
        assert!(matches!(replies.last().unwrap().outcome, Outcome::Failed(Failure::NoNode)));
    }

    #[test]
    fn nodes_pull_as_far_as_their_window_and_the_rest_waits() {
        let (shared, kept) = shared(Policy::Pull);
        shared.issue(samples(5), Instant::now());
        let lane = &shared.nodes[0].lanes[0];
        assert!(shared.refill(lane));
        assert!(!shared.refill(lane), "the window is full");
        assert_eq!(lane.outstanding(), 2);
        assert!(!shared.all_sent());
        shared.give_up();
        assert_eq!(kept.0.lock().unwrap().len(), 5, "each sample ends once");
    }
}
