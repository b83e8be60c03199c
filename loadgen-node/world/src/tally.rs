//! Counts of replies that the engine does not keep: why samples failed, and how long each stage took.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use qdl::{Failure, NodeIndex, Stages};

use crate::odd::Odd;

/// Names of the stages of a round trip: the time outside the SUT first, then the SUT's own stages, then this end's.
pub const STAGES: [&str; 9] =
    ["outside_sut", "decode", "preprocess", "queue", "batch", "inference", "postprocess", "encode", "inflate"];

/// What is counted of replies, one by one, in fixed memory for each node.
#[derive(Default)]
pub struct Tally {
    /// Of the phase that goes on, by the node's place in the list that the user gave; as long as the last node that
    /// answered asks for.
    nodes: Vec<NodeTally>,
    /// Of the phases before it.
    ended: Vec<PhaseSplit>,
    /// The phase whose durations are asked for; none: the one that goes on.
    shown: Option<usize>,
    failures: BTreeMap<String, u64>,
    refused: u64,
    /// Answers that are odd.
    pub odd: Odd,
}

/// What the answers of one phase took.
#[derive(Default)]
struct PhaseSplit {
    all: Split,
    /// By the node's place; none where it answered nothing.
    nodes: Vec<Option<Split>>,
}

/// Percentiles of durations, ns: p50, p90 and p99 of each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Split {
    /// From a sample's last byte sent to its answer whole.
    pub round_trip_ns: [u64; 3],
    stages_ns: [[u64; 3]; STAGES.len()],
}

/// What the answers of one node took. With no answers all of it is zero.
#[derive(Clone, Default)]
struct NodeTally {
    /// From the sample's last byte sent to its answer whole.
    round_trip: Durations,
    stages: [Durations; STAGES.len()],
}

/// Durations in ns. Those of zero are only counted: most stages of most backends take no time.
#[derive(Clone, Default)]
struct Durations {
    zeros: u64,
    /// None until one is above zero: it takes tens of kilobytes.
    others: Option<Histogram<u64>>,
}

/// How many texts of failures are counted apart. They come from the nodes, so their number has no bound.
const MAX_KINDS: usize = 32;
/// The text under which all further failures are counted.
pub const OTHER_FAILURES: &str = "other failures";

impl Tally {
    /// A phase begins, of which this is the number, counted from 0: the durations of the ones before are kept apart.
    pub fn begin_phase(&mut self, number: usize) {
        while self.ended.len() < number {
            let ended = self.of_phase();
            self.ended.push(ended);
            self.nodes.clear();
        }
    }

    /// From now on the durations of this phase are told, counted from 0. One without an answer has none.
    pub fn show_phase(&mut self, number: usize) {
        self.begin_phase(number);
        self.shown = Some(number).filter(|number| *number < self.ended.len());
    }

    /// Counts an answer of this node. `round_trip_ns` is None where it is not known when the sample was sent. Returns
    /// how long each stage took, ns.
    pub fn answered(&mut self, node: NodeIndex, stages: &Stages, round_trip_ns: Option<u64>) -> [u64; STAGES.len()] {
        if node.0 >= self.nodes.len() {
            self.nodes.resize_with(node.0 + 1, NodeTally::default);
        }
        let durations_ns = durations(stages, round_trip_ns);
        self.nodes[node.0].answered(&durations_ns, round_trip_ns);
        durations_ns
    }

    /// Counts a sample that failed.
    pub fn failed(&mut self, failure: &Failure) {
        self.refused += u64::from(*failure == Failure::Overload);
        let mut text = failure.to_string();
        if self.failures.len() >= MAX_KINDS && !self.failures.contains_key(&text) {
            text = OTHER_FAILURES.to_owned();
        }
        *self.failures.entry(text).or_default() += 1;
    }

    /// How many samples found every node full.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// The texts of failures, each with the number of samples.
    pub fn failures(&self) -> &BTreeMap<String, u64> {
        &self.failures
    }

    /// What the answers of all nodes together took.
    pub fn all_nodes(&self) -> Split {
        match self.shown {
            Some(number) => self.ended[number].all,
            None => self.of_phase().all,
        }
    }

    /// What the answers of each node took, by its place; none, or no place, when it answered nothing.
    pub fn by_node(&self) -> Vec<Option<Split>> {
        match self.shown {
            Some(number) => self.ended[number].nodes.clone(),
            None => self.of_phase().nodes,
        }
    }

    fn of_phase(&self) -> PhaseSplit {
        let mut all = NodeTally::default();
        self.nodes.iter().for_each(|node| all.add(node));
        let split = |node: &NodeTally| (node.stages[0].count() > 0).then(|| node.split());
        PhaseSplit { all: all.split(), nodes: self.nodes.iter().map(split).collect() }
    }
}

impl Split {
    /// Each stage by name, with p50, p90 and p99 in ns.
    pub fn stages(&self) -> impl Iterator<Item = (&'static str, [u64; 3])> {
        STAGES.into_iter().zip(self.stages_ns)
    }
}

/// How long each stage of an answer took, ns, in the order of [`STAGES`].
fn durations(stages: &Stages, round_trip_ns: Option<u64>) -> [u64; STAGES.len()] {
    let Stages { decode_ns, preprocess_ns, queue_ns, batch_ns, inference_ns, postprocess_ns, encode_ns, inflate_ns } =
        *stages;
    let known = [decode_ns, preprocess_ns, queue_ns, batch_ns, inference_ns, postprocess_ns, encode_ns, inflate_ns];
    let known_ns = known.iter().fold(0, |a: u64, b| a.saturating_add(*b));
    let outside_ns = round_trip_ns.map_or(0, |whole| whole.saturating_sub(known_ns));
    let [decode, preprocess, queue, batch, inference, postprocess, encode, inflate] = known;
    [outside_ns, decode, preprocess, queue, batch, inference, postprocess, encode, inflate]
}

impl NodeTally {
    fn answered(&mut self, durations_ns: &[u64; STAGES.len()], round_trip_ns: Option<u64>) {
        if let Some(whole) = round_trip_ns {
            self.round_trip.record(whole);
        }
        self.stages.iter_mut().zip(durations_ns).for_each(|(stage, ns)| stage.record(*ns));
    }

    fn add(&mut self, other: &NodeTally) {
        self.round_trip.add(&other.round_trip);
        self.stages.iter_mut().zip(&other.stages).for_each(|(ours, theirs)| ours.add(theirs));
    }

    fn split(&self) -> Split {
        let stages_ns = self.stages.each_ref().map(Durations::percentiles_ns);
        Split { round_trip_ns: self.round_trip.percentiles_ns(), stages_ns }
    }
}

impl Durations {
    fn record(&mut self, ns: u64) {
        match ns {
            0 => self.zeros += 1,
            ns => self.others.get_or_insert_with(histogram).saturating_record(ns),
        }
    }

    fn add(&mut self, more: &Durations) {
        self.zeros += more.zeros;
        if let Some(theirs) = &more.others {
            // Both have the bounds of `histogram`, so that nothing can be out of range.
            let _ = self.others.get_or_insert_with(histogram).add(theirs);
        }
    }

    fn count(&self) -> u64 {
        self.zeros + self.others.as_ref().map_or(0, Histogram::len)
    }

    fn percentiles_ns(&self) -> [u64; 3] {
        [0.50, 0.90, 0.99].map(|quantile| self.value_at(quantile))
    }

    fn value_at(&self, quantile: f64) -> u64 {
        let beyond_zeros = quantile * self.count() as f64 - self.zeros as f64;
        match &self.others {
            Some(others) if beyond_zeros > 0.0 => others.value_at_quantile(beyond_zeros / others.len() as f64),
            _ => 0,
        }
    }
}

/// A histogram from 1 ns to one hour, with two significant digits.
fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 3_600_000_000_000, 2).unwrap_or_else(|_| unreachable!("the bounds are constants"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NODE: NodeIndex = NodeIndex(0);

    #[test]
    fn zeros_count_among_the_values() {
        let mut tally = Tally::default();
        for inference_ns in [0, 0, 0, 10, 20, 30, 40, 50, 60, 70] {
            tally.answered(NODE, &Stages { inference_ns, ..Stages::default() }, None);
        }
        let split: BTreeMap<_, _> = tally.all_nodes().stages().collect();
        assert_eq!(split["inference"], [20, 60, 70]);
        assert_eq!(split["queue"], [0, 0, 0]);
        assert!(Tally::default().all_nodes().stages().all(|(_, values)| values == [0; 3]));
    }

    #[test]
    fn each_node_has_its_own_durations_and_all_have_theirs_together() {
        let mut tally = Tally::default();
        for round_trip_ns in [10, 20, 30] {
            tally.answered(NodeIndex(2), &Stages { inference_ns: 1, ..Stages::default() }, Some(round_trip_ns));
        }
        tally.answered(NODE, &Stages::default(), Some(100));
        let p50: Vec<_> = tally.by_node().iter().map(|node| node.map(|node| node.round_trip_ns[0])).collect();
        assert_eq!(p50, [Some(100), None, Some(20)]);
        assert_eq!(tally.all_nodes().round_trip_ns, [20, 100, 100]);
        let split: BTreeMap<_, _> = tally.all_nodes().stages().collect();
        assert_eq!((split["outside_sut"][0], split["inference"][0]), (19, 1));
    }
    #[test]
    fn each_phase_has_its_own_durations() {
        let mut tally = Tally::default();
        let answered = |tally: &mut Tally, round_trip_ns| {
            tally.answered(NODE, &Stages::default(), Some(round_trip_ns));
        };
        tally.begin_phase(0);
        answered(&mut tally, 10);
        tally.begin_phase(1);
        tally.begin_phase(1);
        answered(&mut tally, 20);
        // One without answers.
        tally.begin_phase(3);
        answered(&mut tally, 30);
        assert_eq!(tally.all_nodes().round_trip_ns[0], 30, "of the one that goes on");
        for (number, p50) in [(0, 10), (1, 20), (2, 0), (3, 30)] {
            tally.show_phase(number);
            assert_eq!(tally.all_nodes().round_trip_ns[0], p50, "phase {number}");
            assert_eq!(tally.by_node().len(), usize::from(p50 > 0));
        }
        // The last one, without answers, is not the one before it.
        tally.show_phase(4);
        assert_eq!((tally.all_nodes().round_trip_ns[0], tally.by_node().len()), (0, 0));
    }
}
