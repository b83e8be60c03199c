//! Finds the node and the lane for each sample, and shares what the threads of a run have in common: the nodes, the
//! backlog, the sink.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::Instant;

use lon_net::clock;
use tokio::sync::Notify;

use super::backlog::Backlog;
use super::lane::Lane;
use super::node::Node;
use crate::types::{Failure, NodeFailure, NodeIndex, Outcome, Reply, Sample, Sink};

/// Samples that a lane takes from the backlog at once, so that other lanes get their turn.
const PULL_SAMPLES: u64 = 32;

/// Most lost nodes that the log names one by one. The others follow at level debug: a process of a thousand nodes may
/// end.
const LOGGED_LOSSES: usize = 8;

/// Rule by which samples find their node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Each sample goes at once to the node with the least outstanding; when all are full it fails.
    LeastOutstanding,
    /// Samples wait in one backlog from which each node takes as it finishes, so a slow node takes fewer.
    Pull,
}

/// State that the threads of one run share.
pub(crate) struct Dispatcher {
    policy: Policy,
    /// The thread that issues also drives the lanes.
    inline: bool,
    pub(crate) nodes: Vec<Node>,
    pub(crate) sink: Arc<dyn Sink>,
    backlog: Backlog,
    /// Where the search for the node with the least outstanding starts, so that equal nodes take turns.
    turn: AtomicUsize,
    /// Nodes that have been lost.
    losses: AtomicUsize,
    /// A flush waits until everything has been sent.
    pub(crate) flushing: AtomicBool,
    /// Signal from lanes that have nothing left to send.
    pub(crate) sent_signal: Notify,
}

impl Dispatcher {
    /// `inline`: the thread that issues also drives the lanes.
    pub(crate) fn new(policy: Policy, inline: bool, nodes: Vec<Node>, sink: Arc<dyn Sink>) -> Dispatcher {
        Dispatcher {
            policy,
            inline,
            nodes,
            sink,
            backlog: Backlog::default(),
            turn: AtomicUsize::new(0),
            losses: AtomicUsize::new(0),
            flushing: AtomicBool::new(false),
            sent_signal: Notify::new(),
        }
    }

    /// Sends samples on their way. A sample that cannot go anywhere fails at once, through the sink.
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

    /// Sends a sample to this node on this lane of it, however much they hold.
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
        self.backlog.extend(samples);
        if self.all_lost() {
            refused.extend(self.refuse_backlog(&Failure::NoNode));
        }
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
        let mut least: Option<(&Node, u64)> = None;
        for node in in_turn.filter(|node| !node.is_lost()) {
            let outstanding = node.outstanding();
            if least.is_none_or(|(_, fewest)| outstanding < fewest) {
                least = Some((node, outstanding));
            }
            // No node has less. Of a thousand nodes most have nothing to do, and looking at all costs more than
            // sending.
            if outstanding == 0 {
                break;
            }
        }
        least.map(|(node, _)| node)
    }

    /// Moves samples from the backlog to a lane, as many as its node's window allows; true when there were any.
    pub(crate) fn refill(&self, lane: &Lane) -> bool {
        if self.policy != Policy::Pull {
            return false;
        }
        let node = &self.nodes[lane.node.0];
        let room = node.window_room().min(PULL_SAMPLES);
        let moved = self.backlog.move_to(lane, self.share(node, room));
        if moved.has_room {
            self.sink.room();
        }
        moved.some
    }

    /// Samples that a node may pull, of the `room` that it has room for. Where fewer wait than all nodes have room
    /// for, it gets no more than its part of those that are not answered: else the first to come takes all of a small
    /// set, and the others have nothing to do.
    fn share(&self, node: &Node, room: u64) -> u64 {
        let waiting = self.backlog.len() as u64;
        if waiting == 0 || waiting >= room.saturating_mul(self.nodes.len() as u64) {
            return room;
        }
        let at_work = || self.nodes.iter().filter(|node| !node.is_lost());
        let unanswered = waiting + at_work().map(Node::outstanding).sum::<u64>();
        let part = unanswered.div_ceil(at_work().count().max(1) as u64);
        room.min(part.saturating_sub(node.outstanding()))
    }

    /// Gives a lane's replies to the sink and leaves `replies` empty. Under [`Policy::Pull`] the lane is woken to take
    /// more.
    pub(crate) fn deliver(&self, lane: &Lane, replies: &mut Vec<Reply>) {
        if replies.is_empty() {
            return;
        }
        let answers = replies.len() as u64;
        self.sink.replies(replies);
        replies.clear();
        if self.policy == Policy::Pull {
            self.nodes[lane.node.0].answered(answers, clock::now());
            lane.wake();
        }
    }

    /// Returns the number of samples that [`Dispatcher::issue`] may still be given. Without a backlog there is no
    /// limit.
    pub(crate) fn room(&self) -> usize {
        match self.policy {
            Policy::LeastOutstanding => usize::MAX,
            Policy::Pull => self.backlog.room(),
        }
    }

    /// Returns true when the node that is next in turn takes a sample of this many bytes, or when no node is left.
    pub(crate) fn takes(&self, bytes: u64) -> bool {
        match self.policy {
            Policy::LeastOutstanding => self.least_outstanding().is_none_or(|node| node.has_room_for(bytes)),
            Policy::Pull => self.backlog.room() > 0 || self.all_lost(),
        }
    }

    /// Nothing that was issued still waits to be sent.
    pub(crate) fn all_sent(&self) -> bool {
        self.backlog.is_empty() && self.nodes.iter().all(Node::all_sent)
    }

    /// Marks a node as lost, once, and fails the samples that it held.
    pub(crate) fn lose(&self, index: NodeIndex, failure: &NodeFailure) {
        let node = &self.nodes[index.0];
        if node.lost.set(failure.clone()).is_err() {
            return;
        }
        match self.losses.fetch_add(1, Relaxed) {
            before if before < LOGGED_LOSSES => tracing::error!(node = node.name, %failure, "node is lost"),
            LOGGED_LOSSES => tracing::error!("more nodes are lost: the reasons of the result count them"),
            _ => tracing::debug!(node = node.name, %failure, "node is lost"),
        }
        self.sink.node_lost(index, failure);
        let mut replies = Vec::new();
        let now = clock::now();
        for lane in &node.lanes {
            lane.fail_all(now, &Failure::NodeLost, &mut replies);
        }
        if self.all_lost() {
            replies.extend(self.refuse_backlog(&Failure::NoNode));
        }
        self.sink.replies(&mut replies);
        // A flush waits for lanes to have sent everything; these never will.
        self.sent_signal.notify_one();
    }

    /// Fails every sample that is left, because the run is over.
    pub(crate) fn give_up(&self) {
        let mut replies = self.refuse_backlog(&Failure::RunEnded);
        let now = clock::now();
        for lane in self.lanes() {
            lane.fail_all(now, &Failure::RunEnded, &mut replies);
        }
        if !replies.is_empty() {
            self.sink.replies(&mut replies);
        }
    }

    fn refuse_backlog(&self, failure: &Failure) -> Vec<Reply> {
        self.backlog.drain().iter().map(|sample| refuse(sample, failure.clone())).collect()
    }

    /// Samples of this node have ended outside its lanes, so its lanes may pull more.
    pub(crate) fn has_room(&self, index: NodeIndex) {
        if self.policy == Policy::Pull {
            self.nodes[index.0].lanes.iter().for_each(|lane| lane.wake());
        }
    }

    /// From now on the ends of streams are no failures: the nodes have been told that the run is over.
    pub(crate) fn expect_ends(&self) {
        self.lanes().for_each(Lane::expect_end);
    }

    /// Ends every stream in good order: a message that was begun is written to its end.
    pub(crate) fn close_lanes(&self) {
        self.lanes().for_each(Lane::close);
    }

    /// Makes every lane look for something to send.
    pub(crate) fn wake_lanes(&self) {
        self.lanes().for_each(|lane| self.filled(lane));
    }

    /// Wakes the lane's writer. When the caller's own thread drives it, that happens the next time it does.
    fn filled(&self, lane: &Lane) {
        if self.inline {
            lane.filled.store(true, Relaxed);
        } else {
            lane.wake();
        }
    }

    /// Wakes the writers of lanes that have been filled since the last time.
    pub(crate) fn wake_filled(&self) {
        // A look costs less than a swap, and there may be a thousand lanes.
        let filled = |lane: &&Lane| lane.filled.load(Relaxed) && lane.filled.swap(false, Relaxed);
        self.lanes().filter(filled).for_each(Lane::wake);
    }

    fn lanes(&self) -> impl Iterator<Item = &Lane> {
        self.nodes.iter().flat_map(|node| node.lanes.iter().map(Arc::as_ref))
    }

    fn all_lost(&self) -> bool {
        self.nodes.iter().all(Node::is_lost)
    }
}

/// A sample that fails before any node has it.
fn refuse(sample: &Sample, failure: Failure) -> Reply {
    Reply { id: sample.id, node: None, sent_at: None, at: clock::now(), outcome: Outcome::Failed(failure) }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use bytes::Bytes;

    use super::super::expected::Expected;
    use super::super::node::Bounds;
    use super::super::rule::AnswerRule;
    use std::time::Duration;

    use super::*;
    use crate::types::SampleId;

    #[derive(Default)]
    struct ReplySink(Mutex<Vec<Reply>>);

    impl Sink for ReplySink {
        fn replies(&self, replies: &mut Vec<Reply>) {
            self.0.lock().unwrap().append(replies);
        }
        fn node_lost(&self, _: NodeIndex, _: &NodeFailure) {}
    }

    fn node(index: usize, max_samples: u64, floor: u64) -> Node {
        let bounds = Bounds { max_samples, max_bytes: 1 << 20, busy_samples: floor };
        let rule = Arc::new(AnswerRule::anything("N", 1 << 20));
        let expected = Expected::new(&rule, false, Duration::from_secs(60), 1 << 20);
        Node::new(NodeIndex(index), format!("N{index}"), (1, 1), bounds, &expected, None)
    }

    fn dispatcher(policy: Policy) -> (Dispatcher, Arc<ReplySink>) {
        let sink = Arc::new(ReplySink::default());
        (Dispatcher::new(policy, false, vec![node(0, 3, 2), node(1, 3, 2)], sink.clone()), sink)
    }

    fn samples(count: u64) -> impl Iterator<Item = Sample> {
        (0..count).map(|id| Sample { id: SampleId(id), payload: Bytes::from_static(b"x"), tensor_bytes: 1 })
    }

    #[test]
    fn samples_go_where_least_is_outstanding_and_fail_when_all_is_full() {
        let (dispatcher, sink) = dispatcher(Policy::LeastOutstanding);
        dispatcher.issue(samples(4), clock::now());
        assert_eq!(dispatcher.lanes().map(Lane::outstanding).collect::<Vec<_>>(), [2, 2]);
        dispatcher.issue(samples(3), clock::now());
        let failed = sink.0.lock().unwrap();
        assert_eq!(failed.len(), 1);
        assert!(matches!(failed[0].outcome, Outcome::Failed(Failure::Overload)));
    }

    #[test]
    fn what_is_sent_to_one_lane_goes_there_however_full_it_is() {
        let (dispatcher, sink) = dispatcher(Policy::LeastOutstanding);
        for sample in samples(9) {
            dispatcher.issue_to(NodeIndex(1), 4, sample, clock::now());
        }
        assert_eq!(dispatcher.lanes().map(Lane::outstanding).collect::<Vec<_>>(), [0, 9]);
        dispatcher.lose(NodeIndex(1), &NodeFailure::Ended("test".into()));
        sink.0.lock().unwrap().clear();
        samples(1).for_each(|sample| dispatcher.issue_to(NodeIndex(1), 0, sample, clock::now()));
        samples(1).for_each(|sample| dispatcher.issue_to(NodeIndex(2), 0, sample, clock::now()));
        let replies = sink.0.lock().unwrap();
        let failure = |reply: &Reply| match &reply.outcome {
            Outcome::Failed(failure) => failure.clone(),
            outcome => panic!("{outcome:?}"),
        };
        assert_eq!(replies.iter().map(failure).collect::<Vec<_>>(), [Failure::NodeLost, Failure::NoNode]);
    }

    #[test]
    fn a_lost_node_gets_nothing_and_its_samples_fail() {
        let (dispatcher, sink) = dispatcher(Policy::LeastOutstanding);
        dispatcher.issue(samples(2), clock::now());
        dispatcher.lose(NodeIndex(0), &NodeFailure::Ended("test".into()));
        assert_eq!(sink.0.lock().unwrap().len(), 1);
        dispatcher.issue(samples(1), clock::now());
        assert_eq!(dispatcher.lanes().map(Lane::outstanding).collect::<Vec<_>>(), [0, 2]);
        dispatcher.lose(NodeIndex(1), &NodeFailure::Ended("test".into()));
        dispatcher.issue(samples(1), clock::now());
        let replies = sink.0.lock().unwrap();
        assert!(matches!(replies.last().unwrap().outcome, Outcome::Failed(Failure::NoNode)));
    }

    #[test]
    fn nodes_pull_as_far_as_their_window_and_the_rest_waits() {
        let (dispatcher, sink) = dispatcher(Policy::Pull);
        dispatcher.issue(samples(5), clock::now());
        let lane = &dispatcher.nodes[0].lanes[0];
        assert!(dispatcher.refill(lane));
        assert!(!dispatcher.refill(lane), "the window is full");
        assert_eq!(lane.outstanding(), 2);
        assert!(!dispatcher.all_sent());
        dispatcher.give_up();
        assert_eq!(sink.0.lock().unwrap().len(), 5, "each sample ends once");
    }

    #[test]
    fn small_sets_are_shared_evenly_and_all_are_taken() {
        for (count, shares) in [(1, [1, 0]), (10, [5, 5]), (16, [8, 8]), (43, [22, 21]), (200, [64, 64])] {
            let nodes = vec![node(0, 1000, 64), node(1, 1000, 64)];
            let dispatcher = Dispatcher::new(Policy::Pull, false, nodes, Arc::new(ReplySink::default()));
            dispatcher.issue(samples(count), clock::now());
            for lane in dispatcher.lanes() {
                while dispatcher.refill(lane) {}
            }
            assert_eq!(dispatcher.lanes().map(Lane::outstanding).collect::<Vec<_>>(), shares, "{count}");
        }
        // The samples that a lost node leaves are for the other one.
        let nodes = vec![node(0, 1000, 64), node(1, 1000, 64)];
        let dispatcher = Dispatcher::new(Policy::Pull, false, nodes, Arc::new(ReplySink::default()));
        dispatcher.lose(NodeIndex(1), &NodeFailure::Ended("test".into()));
        dispatcher.issue(samples(16), clock::now());
        assert!(dispatcher.refill(&dispatcher.nodes[0].lanes[0]));
        assert!(dispatcher.backlog.is_empty());
    }
}
