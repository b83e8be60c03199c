//! Which gaps on lanes are stalls of their nodes: a node, or the way to it, that stood still for a while. Pure.
//!
//! Every stream brings something twice a second, a heartbeat at least. A longer gap is the node's, but for the time in
//! which this end did not look itself: what the node sent then was read late.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use lon_proto::limits::LONGEST_SILENCE;

use crate::dispatch::{Lane, Node};

/// A tick that comes later than this after the one before was held up at this end.
const LATE: Duration = Duration::from_millis(300);

/// Stretches of our own that are remembered. A gap is at most as long as a node may be silent, so old ones do not
/// matter.
const REMEMBERED: usize = 64;

/// Stretches in which this end did not look at its lanes.
#[derive(Debug)]
pub(super) struct OwnGaps {
    last_tick: Instant,
    gaps: VecDeque<(Instant, Instant)>,
}

impl OwnGaps {
    /// Nothing has been missed until `now`.
    pub(super) fn new(now: Instant) -> OwnGaps {
        OwnGaps { last_tick: now, gaps: VecDeque::new() }
    }

    /// Notes that the lanes are looked at now.
    pub(super) fn tick(&mut self, now: Instant) {
        let before = std::mem::replace(&mut self.last_tick, now);
        if now.saturating_duration_since(before) > LATE {
            self.gaps.push_back((before, now));
            if self.gaps.len() > REMEMBERED {
                self.gaps.pop_front();
            }
        }
    }

    /// Returns the time for which the node stood still in a gap on one of its lanes, or `None` when it is no longer
    /// than allowed.
    fn stall(&self, (from, until): (Instant, Instant)) -> Option<Duration> {
        let missed = self.gaps.iter().map(|&(a, b)| b.min(until).saturating_duration_since(a.max(from)));
        let silence = until.saturating_duration_since(from).saturating_sub(missed.sum());
        (silence > LONGEST_SILENCE).then_some(silence)
    }

    /// Adds to the node's stalls what is one of the gaps on this lane, the one that has not ended among them.
    pub(super) fn look_at(&self, lane: &Lane, node: &Node, now: Instant) {
        let (heard_at, gaps) = lane.take_gaps();
        for gap in gaps.into_iter().chain([(heard_at, now)]) {
            if let Some(length) = self.stall(gap) {
                node.stalled(gap.0, length);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use lon_net::clock;

    use super::*;

    #[test]
    fn a_gap_is_the_nodes_but_for_the_time_that_we_missed() {
        let start = clock::now();
        let at = |ms| start + Duration::from_millis(ms);
        let mut own = OwnGaps::new(start);
        (1..=30).for_each(|tick| own.tick(at(100 * tick)));
        assert_eq!(own.stall((at(0), at(1_000))), None, "two heartbeats");
        assert_eq!(own.stall((at(500), at(3_000))), Some(Duration::from_millis(2_500)));
        own.tick(at(11_000));
        assert_eq!(own.stall((at(2_600), at(11_010))), None, "we were stopped for eight seconds");
        assert_eq!(own.stall((at(500), at(11_000))), Some(Duration::from_millis(2_500)), "and the node before");
    }
}
