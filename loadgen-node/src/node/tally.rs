//! What the node keeps about replies beyond the engine's record: why samples failed, and where the time went.

use std::collections::BTreeMap;
use std::time::Duration;

use hdrhistogram::Histogram;
use qdl::{Failure, Stages};

/// Stages of a round trip, in their order: the SUT's own, and what is left of the round trip outside it.
pub(crate) const STAGES: [&str; 6] = ["outside_sut", "decode", "queue", "batch", "inference", "encode"];

/// Filled reply by reply, in fixed memory.
pub(crate) struct Tally {
    stages: [Histogram<u64>; 6],
    failures: BTreeMap<String, u64>,
}

/// Kinds of failure that are told apart; texts come from the nodes and could be without number.
const MAX_KINDS: usize = 32;

impl Default for Tally {
    fn default() -> Tally {
        Tally { stages: std::array::from_fn(|_| histogram()), failures: BTreeMap::new() }
    }
}

impl Tally {
    pub(crate) fn answered(&mut self, stages: &Stages, round_trip: Option<Duration>) {
        let Stages { decode, queue, batch, inference, encode } = *stages;
        let inside = decode + queue + batch + inference + encode;
        let outside = round_trip.map_or(Duration::ZERO, |whole| whole.saturating_sub(inside));
        for (histogram, stage) in self.stages.iter_mut().zip([outside, decode, queue, batch, inference, encode]) {
            histogram.saturating_record(u64::try_from(stage.as_nanos()).unwrap_or(u64::MAX));
        }
    }

    pub(crate) fn failed(&mut self, failure: &Failure) {
        let mut text = failure.to_string();
        if self.failures.len() >= MAX_KINDS && !self.failures.contains_key(&text) {
            text = "other failures".to_owned();
        }
        *self.failures.entry(text).or_default() += 1;
    }

    /// Why samples failed, and how many of each.
    pub(crate) fn failures(&self) -> &BTreeMap<String, u64> {
        &self.failures
    }

    /// Per stage: name, p50, p90, p99 in ns.
    pub(crate) fn split(&self) -> impl Iterator<Item = (&'static str, [u64; 3])> {
        STAGES
            .into_iter()
            .zip(&self.stages)
            .map(|(name, histogram)| (name, [0.50, 0.90, 0.99].map(|quantile| histogram.value_at_quantile(quantile))))
    }
}

/// 1 ns to an hour with two significant digits.
fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 3_600_000_000_000, 2).unwrap_or_else(|_| unreachable!("the bounds are constants"))
}
