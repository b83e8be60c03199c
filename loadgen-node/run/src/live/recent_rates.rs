//! Rates of the last seconds, by what the counters were a few seconds ago.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::recent_latencies::RECENT;

/// The time between two marks.
const STEP: Duration = Duration::from_secs(1);

/// Counters as they were once a second.
#[derive(Debug, Default)]
pub(super) struct Marks(VecDeque<Mark>);

/// Counters at one moment.
#[derive(Clone, Debug)]
pub(super) struct Mark {
    pub(super) at: Instant,
    /// Samples that had ended.
    pub(super) ended: u64,
    /// Tokens of their answers.
    pub(super) tokens: u64,
    /// Of each node, in order.
    pub(super) nodes: Vec<NodeMark>,
}

/// A node's counters at one moment.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct NodeMark {
    /// Samples sent to it.
    pub(super) samples: u64,
    /// Bytes handed to the sockets towards it.
    pub(super) ingress_bytes: u64,
    /// Bytes taken from them.
    pub(super) egress_bytes: u64,
}

/// Growth of the counters per second, since a few seconds ago.
#[derive(Clone, Debug, Default)]
pub(super) struct Growth {
    pub(super) ended_per_s: f64,
    pub(super) tokens_per_s: f64,
    /// Of each node: samples, bytes towards it, bytes back, a second.
    pub(super) nodes_per_s: Vec<[f64; 3]>,
}

impl Marks {
    /// Forgets all: what follows has nothing to do with what was before.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Returns the growth of the counters up to `now`. Keeps `now` as a mark when it is time for one.
    pub(super) fn growth(&mut self, now: &Mark) -> Growth {
        let age = |mark: &Mark| now.at.saturating_duration_since(mark.at);
        // One that is older than the last seconds stays as long as there is none just as old as they are long.
        while self.0.get(1).is_some_and(|second| age(second) >= RECENT) {
            self.0.pop_front();
        }
        let growth = self.0.front().map(|then| grown(then, now)).unwrap_or_default();
        if self.0.back().is_none_or(|last| age(last) >= STEP) {
            self.0.push_back(now.clone());
        }
        growth
    }
}

fn grown(then: &Mark, now: &Mark) -> Growth {
    let seconds = now.at.saturating_duration_since(then.at).as_secs_f64().max(1e-3);
    let per_s = |then: u64, now: u64| now.saturating_sub(then) as f64 / seconds;
    let node = |(then, now): (&NodeMark, &NodeMark)| {
        [
            per_s(then.samples, now.samples),
            per_s(then.ingress_bytes, now.ingress_bytes),
            per_s(then.egress_bytes, now.egress_bytes),
        ]
    };
    Growth {
        ended_per_s: per_s(then.ended, now.ended),
        tokens_per_s: per_s(then.tokens, now.tokens),
        nodes_per_s: then.nodes.iter().zip(&now.nodes).map(node).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_those_of_the_last_seconds() {
        let (start, mut marks) = (Instant::now(), Marks::default());
        let mut mark = |ms: u64, ended: u64| {
            let node = NodeMark { samples: ended, ingress_bytes: ended * 10, egress_bytes: ended * 2 };
            let at = start + Duration::from_millis(ms);
            marks.growth(&Mark { at, ended, tokens: ended * 3, nodes: vec![node] })
        };
        assert_eq!(mark(0, 0).ended_per_s, 0.0);
        let first = mark(500, 50);
        assert_eq!((first.ended_per_s, first.tokens_per_s), (100.0, 300.0));
        assert_eq!(first.nodes_per_s, [[100.0, 1_000.0, 200.0]]);
        (1..=20).for_each(|second| drop(mark(second * 1_000, second * 100)));
        // It stops.
        let rates: Vec<f64> = (21..=26).map(|second| mark(second * 1_000, 2_000).ended_per_s).collect();
        assert_eq!(rates, [80.0, 60.0, 40.0, 20.0, 0.0, 0.0]);
    }
}
