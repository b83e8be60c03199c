//! One node of a run: its lanes, its bounds and its counters.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use lon_net::clock;

use super::expected::Expected;
use super::lane::Lane;
use super::window::PullWindow;
use crate::account::counters::NodeCounts;
use crate::account::inflated::Inflated;
use crate::account::now::{NodeNow, NodeRoom};
use crate::account::traffic::{NodeTraffic, Sockets};
use crate::types::{NodeFailure, NodeIndex, Stall};

/// Samples that one node is given at most before it has answered, whatever it says: each takes memory here, too.
const MAX_SAMPLES_IN_FLIGHT: u64 = 1 << 20;

/// Bounds of a node: the most that it takes, as it answered the claim.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Samples that it holds at most.
    pub(crate) max_samples: u64,
    /// Bytes of samples that it holds at most.
    pub(crate) max_bytes: u64,
    /// Samples that keep its workers busy.
    pub(crate) busy_samples: u64,
}

/// One node, shared by all threads of a run.
pub(crate) struct Node {
    pub(crate) name: String,
    pub(crate) lanes: Vec<Arc<Lane>>,
    /// The sockets that carry its lanes.
    pub(crate) sockets: Arc<Sockets>,
    /// Counters of its answers that are inflated here; `None` when answers have no codec.
    pub(crate) inflated: Option<Arc<Inflated>>,
    /// Why the node was lost; empty as long as it is used.
    pub(crate) lost: OnceLock<NodeFailure>,
    stalls: Mutex<Vec<Stall>>,
    bounds: Bounds,
    window: Mutex<PullWindow>,
}

impl Node {
    /// A node that nothing has been sent to, with so many lanes, each with [room](super::prefaulted::room) for so many
    /// samples from the start.
    pub(crate) fn new(
        index: NodeIndex,
        name: String,
        (lanes, room): (usize, usize),
        bounds: Bounds,
        expected: &Expected,
        inflated: Option<Arc<Inflated>>,
    ) -> Node {
        let bounds = Bounds { max_samples: bounds.max_samples.clamp(1, MAX_SAMPLES_IN_FLIGHT), ..bounds };
        Node {
            name,
            lanes: (0..lanes).map(|_| Arc::new(Lane::new(index, expected.clone(), room))).collect(),
            sockets: Arc::default(),
            inflated,
            lost: OnceLock::new(),
            stalls: Mutex::default(),
            bounds,
            window: Mutex::new(PullWindow::new(bounds.busy_samples, bounds.max_samples)),
        }
    }

    /// Samples that the node holds at most.
    pub(crate) fn max_samples(&self) -> u64 {
        self.bounds.max_samples
    }

    pub(crate) fn is_lost(&self) -> bool {
        self.lost.get().is_some()
    }

    /// Samples that were assigned and have not ended, including those whose answers wait to be inflated.
    pub(super) fn outstanding(&self) -> u64 {
        let waiting = self.inflated.as_ref().map_or(0, |inflated| inflated.waiting());
        self.lanes.iter().map(|lane| lane.outstanding()).sum::<u64>() + waiting
    }

    /// All samples that were assigned have been answered.
    pub(crate) fn is_done(&self) -> bool {
        self.outstanding() == 0 && self.counts().unanswered == 0
    }

    fn outstanding_bytes(&self) -> u64 {
        self.lanes.iter().map(|lane| lane.outstanding_bytes()).sum()
    }

    /// The node takes a sample of this many bytes now. One that holds nothing takes a sample of any size.
    pub(super) fn has_room_for(&self, bytes: u64) -> bool {
        let samples = self.outstanding();
        samples == 0 || (samples < self.bounds.max_samples && self.outstanding_bytes() + bytes <= self.bounds.max_bytes)
    }

    /// Returns the number of samples that the node may still pull.
    pub(super) fn window_room(&self) -> u64 {
        let (outstanding, bytes) = (self.outstanding(), self.outstanding_bytes());
        self.window().room(outstanding, bytes, clock::now())
    }

    fn window(&self) -> MutexGuard<'_, PullWindow> {
        self.window.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells the window that this many answers came at `now`.
    pub(super) fn answered(&self, answers: u64, now: Instant) {
        self.window().answered(answers, now);
    }

    /// When something came from the node last, on any lane.
    pub(crate) fn heard_at(&self) -> Instant {
        self.lanes.iter().map(|lane| lane.heard_at()).max().unwrap_or_else(clock::now)
    }

    /// Notes that the node stood still for so long, as one of its lanes shows. What several lanes show, or what goes
    /// on, is one stall.
    pub(crate) fn stalled(&self, since: Instant, length: Duration) {
        let mut stalls = self.stalls.lock().unwrap_or_else(PoisonError::into_inner);
        match stalls.iter_mut().find(|stall| since <= stall.since + stall.length && stall.since <= since + length) {
            Some(stall) => {
                let end = (stall.since + stall.length).max(since + length);
                stall.since = stall.since.min(since);
                stall.length = end - stall.since;
            }
            None => stalls.push(Stall { since, length }),
        }
    }

    /// When the node stood still, so far. That nothing more came from a node that was lost is no stall: it was lost.
    pub(crate) fn stalls(&self) -> Vec<Stall> {
        let mut stalls = self.stalls.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if self.lost.get().is_some() {
            let heard_at = self.heard_at();
            stalls.retain(|stall| stall.since + stall.length <= heard_at);
        }
        stalls
    }

    /// Samples sent in full so far.
    pub(crate) fn samples_sent(&self) -> u64 {
        self.lanes.iter().map(|lane| lane.counters.samples_sent()).sum()
    }

    /// Nothing of what was assigned still waits to be sent.
    pub(super) fn all_sent(&self) -> bool {
        self.lanes.iter().all(|lane| lane.all_sent())
    }

    /// The node's counters until now. May be called from any thread.
    pub(crate) fn counts(&self) -> NodeCounts {
        let mut counts: NodeCounts = self.lanes.iter().map(|lane| lane.counters.read()).sum();
        if let Some(inflated) = &self.inflated {
            counts.tensor_bytes_in = inflated.tensor_bytes();
            counts.not_inflated = inflated.missed();
        }
        counts
    }

    /// Returns the traffic on its connections until now. May be called from any thread.
    pub(crate) fn traffic(&self) -> NodeTraffic {
        self.sockets.traffic(&self.counts())
    }

    /// Returns the room for more until now. May be called from any thread.
    pub(crate) fn room(&self) -> NodeRoom {
        let mut socket = self.sockets.room();
        socket.blocked += self.lanes.iter().map(|lane| lane.blocked()).sum::<Duration>();
        let http2_held = self.lanes.iter().map(|lane| lane.http2_held()).sum();
        let window_full = self.window().full(clock::now());
        NodeRoom {
            writers: self.lanes.len() as u64,
            socket,
            http2_held,
            window_full,
            is_on_this_host: self.sockets.ends().is_some_and(|ends| ends.are_here()),
        }
    }

    /// All that is known of it now. May be called from any thread.
    pub(crate) fn now(&self) -> NodeNow {
        let counts = self.counts();
        NodeNow {
            name: self.name.clone(),
            counts,
            traffic: self.sockets.traffic(&counts),
            room: self.room(),
            outstanding: self.outstanding(),
            lost: self.lost.get().cloned(),
            stalls: self.stalls(),
        }
    }
}
