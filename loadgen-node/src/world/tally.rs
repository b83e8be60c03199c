//! Counts of replies that the engine does not keep: why samples failed, and how long each stage took.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use qdl::{Failure, Stages};

/// Names of the stages of a round trip: the time outside the SUT first, then the SUT's own stages, then this end's.
pub(crate) const STAGES: [&str; 9] =
    ["outside_sut", "decode", "preprocess", "queue", "batch", "inference", "postprocess", "encode", "inflate"];

/// What is counted of replies, one by one, in fixed memory.
pub(crate) struct Tally {
    /// Durations in ns of each stage, without those that took no time.
    stages: [Histogram<u64>; STAGES.len()],
    zeros: [u64; STAGES.len()],
    failures: BTreeMap<String, u64>,
    refused: u64,
}

/// How many texts of failures are counted apart. They come from the nodes, so their number has no bound.
const MAX_KINDS: usize = 32;
/// The text under which all further failures are counted.
pub(crate) const OTHER_FAILURES: &str = "other failures";

impl Default for Tally {
    fn default() -> Tally {
        Tally {
            stages: std::array::from_fn(|_| histogram()),
            zeros: [0; STAGES.len()],
            failures: BTreeMap::new(),
            refused: 0,
        }
    }
}

impl Tally {
    pub(crate) fn answered(&mut self, stages: &Stages, round_trip_ns: Option<u64>) {
        let Stages {
            decode_ns,
            preprocess_ns,
            queue_ns,
            batch_ns,
            inference_ns,
            postprocess_ns,
            encode_ns,
            inflate_ns,
        } = *stages;
        let known = [decode_ns, preprocess_ns, queue_ns, batch_ns, inference_ns, postprocess_ns, encode_ns, inflate_ns];
        let known_ns = known.iter().fold(0, |a: u64, b| a.saturating_add(*b));
        let outside = round_trip_ns.map_or(0, |whole| whole.saturating_sub(known_ns));
        let values = std::iter::once(outside).chain(known);
        for ((histogram, zeros), value) in self.stages.iter_mut().zip(&mut self.zeros).zip(values) {
            // Most stages of most backends take no time: a count is cheaper than a histogram's record.
            match value {
                0 => *zeros += 1,
                value => histogram.saturating_record(value),
            }
        }
    }

    pub(crate) fn failed(&mut self, failure: &Failure) {
        self.refused += u64::from(*failure == Failure::Overload);
        let mut text = failure.to_string();
        if self.failures.len() >= MAX_KINDS && !self.failures.contains_key(&text) {
            text = OTHER_FAILURES.to_owned();
        }
        *self.failures.entry(text).or_default() += 1;
    }

    /// How many samples found every node full.
    pub(crate) fn refused(&self) -> u64 {
        self.refused
    }

    /// The texts of failures, each with the number of samples.
    pub(crate) fn failures(&self) -> &BTreeMap<String, u64> {
        &self.failures
    }

    /// Each stage by name, with p50, p90 and p99 in ns.
    pub(crate) fn split(&self) -> impl Iterator<Item = (&'static str, [u64; 3])> {
        let columns = self.stages.iter().zip(self.zeros);
        STAGES.into_iter().zip(columns).map(|(name, (histogram, zeros))| {
            (name, [0.50, 0.90, 0.99].map(|quantile| value_at(histogram, zeros, quantile)))
        })
    }
}

/// The quantile of all values: those in the histogram, and `zeros` zeros.
fn value_at(histogram: &Histogram<u64>, zeros: u64, quantile: f64) -> u64 {
    let all = (histogram.len() + zeros) as f64;
    let beyond_zeros = quantile * all - zeros as f64;
    if beyond_zeros <= 0.0 { 0 } else { histogram.value_at_quantile(beyond_zeros / histogram.len() as f64) }
}

/// A histogram from 1 ns to one hour, with two significant digits.
fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 3_600_000_000_000, 2).unwrap_or_else(|_| unreachable!("the bounds are constants"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_count_among_the_values() {
        let mut tally = Tally::default();
        for inference_ns in [0, 0, 0, 10, 20, 30, 40, 50, 60, 70] {
            tally.answered(&Stages { inference_ns, ..Stages::default() }, None);
        }
        let split: BTreeMap<_, _> = tally.split().collect();
        assert_eq!(split["inference"], [20, 60, 70]);
        assert_eq!(split["queue"], [0, 0, 0]);
        assert!(Tally::default().split().all(|(_, values)| values == [0; 3]));
    }
}
