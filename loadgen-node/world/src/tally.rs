//! Counts of replies that the engine does not keep: why samples failed, and how long each stage took.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use loadgen::world::TimeNs;
use qdl::{Failure, NodeIndex, Stages};

use crate::odd_answers::Odd;

/// Names of the stages of a round trip: the time outside the SUT first, then the SUT's own stages, then this end's.
pub const STAGES: [&str; 9] =
    ["outside_sut", "decode", "preprocess", "queue", "batch", "inference", "postprocess", "encode", "inflate"];

/// Name of what is before the round trip: from when the sample was due until its last byte was sent.
pub const BEFORE_SENDING: &str = "before_sending";

/// Counts and durations of replies, added one by one, in fixed memory for each node.
#[derive(Default)]
pub struct Tally {
    /// Of the phase that goes on, by the node's place in the list that the user gave; as long as the last node that
    /// answered asks for.
    nodes: Vec<NodeTally>,
    /// Of the phases before it.
    ended: Vec<PhaseSplit>,
    /// The phase whose durations are asked for; none: the one that goes on.
    phase: Option<usize>,
    failures: BTreeMap<String, u64>,
    refused: u64,
    /// When the first node was lost; none where the run lost none.
    pub lost_at: Option<TimeNs>,
    /// Answers that are odd.
    pub odd: Odd,
}

/// Durations of the answers of one phase.
#[derive(Default)]
struct PhaseSplit {
    all: Split,
    /// By the node's place; none where it answered nothing.
    nodes: Vec<Option<Split>>,
}

/// Durations of the samples at a percentile of the latency: each at p50, p90 and p99, ns.
///
/// The parts are those of the same samples, so that they add up to the latency. Percentiles of each part for itself
/// would not: the samples that waited longest to be sent need not be those that waited longest at the node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Split {
    /// From a sample's last byte sent to its answer whole: its own percentiles.
    pub round_trip_ns: [u64; 3],
    /// From when a sample was due to its answer whole; the mean of the samples at the percentile.
    pub latency_ns: [u64; 3],
    /// Part of the latency before the sample was sent, ns.
    before_sending_ns: [u64; 3],
    /// And in each stage of the round trip.
    stages_ns: [[u64; 3]; STAGES.len()],
}

/// The percentiles of a [`Split`].
const QUANTILES: [f64; 3] = [0.50, 0.90, 0.99];

/// Durations of the answers of one node. With no answers all of it is empty.
#[derive(Clone, Default)]
struct NodeTally {
    /// From the sample's last byte sent to its answer whole. None until there is one: it takes tens of kilobytes.
    round_trip: Option<Histogram<u64>>,
    parts: Parts,
}

/// Most texts of failures that are counted apart. They come from the nodes, so their number has no bound.
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
        self.phase = Some(number).filter(|number| *number < self.ended.len());
    }

    /// Counts an answer.
    pub fn answered(&mut self, answer: &Answered) {
        let at = answer.node.0;
        if at >= self.nodes.len() {
            self.nodes.resize_with(at + 1, NodeTally::default);
        }
        self.nodes[at].answered(answer);
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

    /// Returns the number of samples that found every node full.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// The texts of failures, each with the number of samples.
    pub fn failures(&self) -> &BTreeMap<String, u64> {
        &self.failures
    }

    /// Returns the durations of the answers of all nodes together.
    pub fn all_nodes(&self) -> Split {
        match self.phase {
            Some(number) => self.ended[number].all,
            None => self.of_phase().all,
        }
    }

    /// Returns the durations of each node's answers, by its place. The entry is `None`, or missing, when the node
    /// answered nothing.
    pub fn by_node(&self) -> Vec<Option<Split>> {
        match self.phase {
            Some(number) => self.ended[number].nodes.clone(),
            None => self.of_phase().nodes,
        }
    }

    fn of_phase(&self) -> PhaseSplit {
        let mut all = NodeTally::default();
        self.nodes.iter().for_each(|node| all.add(node));
        let split = |node: &NodeTally| (node.parts.samples() > 0).then(|| node.split());
        PhaseSplit { all: all.split(), nodes: self.nodes.iter().map(split).collect() }
    }
}

impl Split {
    /// Each part of the latency by name, with what it was at p50, p90 and p99, ns.
    pub fn parts(&self) -> impl Iterator<Item = (&'static str, [u64; 3])> {
        std::iter::once((BEFORE_SENDING, self.before_sending_ns)).chain(STAGES.into_iter().zip(self.stages_ns))
    }
}

/// An answer, and what it took.
#[derive(Clone, Copy, Debug)]
pub struct Answered {
    /// The node that gave it.
    pub node: NodeIndex,
    /// From the sample's last byte sent; none where it is not known when that was.
    pub round_trip_ns: Option<u64>,
    /// Duration of each stage of the round trip, ns, in the order of [`STAGES`].
    pub stages_ns: [u64; STAGES.len()],
    /// From when the sample was due; none where another engine knows that.
    pub latency_ns: Option<u64>,
}

impl Answered {
    /// An answer whose latency is not known yet.
    pub fn new(node: NodeIndex, stages: &Stages, round_trip_ns: Option<u64>) -> Answered {
        let inside_ns = stages.durations_ns();
        let outside_ns = round_trip_ns.map_or(0, |whole| whole.saturating_sub(stages.sum_ns()));
        let [decode, preprocess, queue, batch, inference, postprocess, encode, inflate] = inside_ns;
        let stages_ns = [outside_ns, decode, preprocess, queue, batch, inference, postprocess, encode, inflate];
        Answered { node, round_trip_ns, stages_ns, latency_ns: None }
    }
}

impl NodeTally {
    fn answered(&mut self, answer: &Answered) {
        if let Some(whole) = answer.round_trip_ns {
            self.round_trip.get_or_insert_with(histogram).saturating_record(whole);
        }
        self.parts.add_sample(answer);
    }

    fn add(&mut self, other: &NodeTally) {
        if let Some(theirs) = &other.round_trip {
            // Both have the bounds of `histogram`, so that nothing can be out of range.
            let _ = self.round_trip.get_or_insert_with(histogram).add(theirs);
        }
        self.parts.add(&other.parts);
    }

    fn split(&self) -> Split {
        let trip = |quantile| self.round_trip.as_ref().map_or(0, |trips| trips.value_at_quantile(quantile));
        let mut split = Split { round_trip_ns: QUANTILES.map(trip), ..Split::default() };
        for (at, sums) in QUANTILES.into_iter().map(|quantile| self.parts.at(quantile)).enumerate() {
            let Sums { samples: samples @ 1.., latency_ns, stages_ns } = sums else { continue };
            let latency = latency_ns / samples;
            let unsent = latency_ns.saturating_sub(total(&stages_ns)) / samples;
            // The rest from rounding goes to the first stage, which is a remainder itself.
            split.latency_ns[at] = latency;
            split.before_sending_ns[at] = unsent;
            let mut parts = stages_ns.map(|sum| sum / samples);
            parts[0] = latency.saturating_sub(unsent).saturating_sub(total(&parts[1..]));
            split.stages_ns.iter_mut().zip(parts).for_each(|(stage, part)| stage[at] = part);
        }
        split
    }
}

/// A histogram from 1 ns to one hour, with two significant digits.
fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 3_600_000_000_000, 2).unwrap_or_else(|_| unreachable!("the bounds are constants"))
}

/// Latencies in as many ranges between one power of two and the next: below a hundredth wide.
const RANGES: usize = 128;

/// Powers of two above the shortest range.
const POWERS: usize = 1 + (u64::BITS - RANGES.ilog2()) as usize;

/// Sums of the durations of the samples of a range of latencies.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    samples: u64,
    latency_ns: u64,
    stages_ns: [u64; STAGES.len()],
}

/// Durations of samples, by their latency. Memory grows with how far latencies are apart, not with their number.
#[derive(Clone)]
struct Parts([Option<Box<[Sums; RANGES]>>; POWERS]);

impl Default for Parts {
    fn default() -> Parts {
        Parts([const { None }; POWERS])
    }
}

impl Parts {
    #[inline]
    fn add_sample(&mut self, answer: &Answered) {
        let Answered { round_trip_ns, mut stages_ns, latency_ns, .. } = *answer;
        let stages_sum_ns = total(&stages_ns);
        let latency_ns = latency_ns.or(round_trip_ns).unwrap_or(stages_sum_ns);
        // Where it is not known when the sample was sent, nobody can say what of the rest was before that.
        if round_trip_ns.is_none() {
            stages_ns[0] = stages_ns[0].saturating_add(latency_ns.saturating_sub(stages_sum_ns));
        }
        let [power, range] = place(latency_ns);
        let sums = &mut self.0[power].get_or_insert_with(|| Box::new([Sums::default(); RANGES]))[range];
        sums.add(&Sums { samples: 1, latency_ns, stages_ns });
    }

    fn add(&mut self, more: &Parts) {
        for (ours, theirs) in self.0.iter_mut().zip(&more.0) {
            match (ours, theirs) {
                (_, None) => {}
                (ours @ None, theirs) => ours.clone_from(theirs),
                (Some(ours), Some(theirs)) => {
                    ours.iter_mut().zip(theirs.iter()).for_each(|(ours, more)| ours.add(more));
                }
            }
        }
    }

    fn all(&self) -> impl Iterator<Item = &Sums> {
        self.0.iter().flatten().flat_map(|ranges| ranges.iter())
    }

    fn samples(&self) -> u64 {
        self.all().map(|sums| sums.samples).sum()
    }

    /// The range in which this quantile of the latencies is, by LoadGen's rule; with no samples one of none.
    fn at(&self, quantile: f64) -> Sums {
        let rank = (quantile * self.samples() as f64) as u64 + 1;
        let mut samples_so_far = 0;
        let range = self.all().find(|sums| {
            samples_so_far += sums.samples;
            samples_so_far >= rank
        });
        range.copied().unwrap_or_default()
    }
}

impl Sums {
    fn add(&mut self, more: &Sums) {
        self.samples += more.samples;
        self.latency_ns = self.latency_ns.saturating_add(more.latency_ns);
        self.stages_ns.iter_mut().zip(more.stages_ns).for_each(|(sum, ns)| *sum = sum.saturating_add(ns));
    }
}

/// The sum of durations, which come from the nodes: they may be anything.
fn total(durations_ns: &[u64]) -> u64 {
    durations_ns.iter().fold(0, |sum, ns| sum.saturating_add(*ns))
}

/// Where a latency belongs: its power of two, and the range in it.
#[inline]
fn place(latency_ns: u64) -> [usize; 2] {
    let bits = RANGES.ilog2();
    match (latency_ns >> bits).checked_ilog2() {
        None => [0, latency_ns as usize],
        Some(power) => [1 + power as usize, (latency_ns >> power) as usize - RANGES],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NODE: NodeIndex = NodeIndex(0);

    fn answered(node: NodeIndex, inference_ns: u64, round_trip_ns: u64, latency_ns: u64) -> Answered {
        let stages = Stages { inference_ns, ..Stages::default() };
        Answered { latency_ns: Some(latency_ns), ..Answered::new(node, &stages, Some(round_trip_ns)) }
    }

    fn parts(split: &Split) -> BTreeMap<&'static str, [u64; 3]> {
        split.parts().collect()
    }

    #[test]
    fn the_parts_of_a_latency_are_those_of_the_same_samples_and_add_up() {
        let mut tally = Tally::default();
        // Nine that were sent at once and inferred for long, and one that waited.
        (0..9).for_each(|_| tally.answered(&answered(NODE, 70, 90, 90)));
        tally.answered(&answered(NODE, 1, 5, 100_005));
        let split = tally.all_nodes();
        assert_eq!(split.round_trip_ns[2], 90);
        let durations = parts(&split);
        assert_eq!(durations["inference"], [70, 1, 1], "not the longest of all, which another sample had");
        assert_eq!(durations[BEFORE_SENDING], [0, 100_000, 100_000]);
        assert_eq!(durations["outside_sut"], [20, 4, 4]);
        assert_eq!(split.latency_ns, [90, 100_005, 100_005]);
    }

    #[test]
    fn rounding_makes_no_wait() {
        let mut tally = Tally::default();
        for (inference_ns, latency_ns) in [(1_000, 1_001_000), (1_001, 1_001_001), (1_001, 1_001_001)] {
            tally.answered(&answered(NODE, inference_ns, latency_ns, latency_ns));
        }
        let split = tally.all_nodes();
        for at in 0..3 {
            assert_eq!(split.parts().map(|(_, ns)| ns[at]).sum::<u64>(), split.latency_ns[at]);
        }
        assert_eq!(parts(&split)[BEFORE_SENDING], [0; 3]);
    }

    #[test]
    fn where_nobody_knows_when_a_sample_was_sent_nothing_waited() {
        let mut tally = Tally::default();
        let of = Answered::new(NODE, &Stages { queue_ns: 30, ..Stages::default() }, None);
        tally.answered(&Answered { latency_ns: Some(100), ..of });
        let durations = parts(&tally.all_nodes());
        assert_eq!((durations["outside_sut"][0], durations["queue"][0], durations[BEFORE_SENDING][0]), (70, 30, 0));
        assert_eq!(Tally::default().all_nodes(), Split::default());
    }

    #[test]
    fn ranges_of_latencies_are_narrow_and_in_order() {
        let mut before = [0, 0];
        for ns in (0..4_096).chain((12..64).flat_map(|bits| [(1u64 << bits) - 1, 1 << bits, (1 << bits) / 9 * 13])) {
            let at = place(ns);
            assert!(at[0] < POWERS && at[1] < RANGES, "{ns}");
            assert!(at >= before || ns >= 4_096, "{ns}");
            assert!(ns < 4_096 || place(ns - ns / 100) < at, "{ns}: a hundredth less is another range");
            before = at;
        }
    }

    #[test]
    fn each_node_has_its_own_durations_and_all_have_theirs_together() {
        let mut tally = Tally::default();
        for round_trip_ns in [10, 20, 30] {
            tally.answered(&answered(NodeIndex(2), 1, round_trip_ns, round_trip_ns));
        }
        tally.answered(&answered(NODE, 0, 100, 100));
        let p50: Vec<_> = tally.by_node().iter().map(|node| node.map(|node| node.round_trip_ns[0])).collect();
        assert_eq!(p50, [Some(100), None, Some(20)]);
        assert_eq!(tally.all_nodes().round_trip_ns, [20, 100, 100]);
        let durations = parts(&tally.all_nodes());
        assert_eq!((durations["outside_sut"][0], durations["inference"][0]), (29, 1));
    }

    #[test]
    fn each_phase_has_its_own_durations() {
        let mut tally = Tally::default();
        let answered =
            |tally: &mut Tally, round_trip_ns| tally.answered(&answered(NODE, 0, round_trip_ns, round_trip_ns));
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
