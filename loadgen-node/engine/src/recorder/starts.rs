//! When the latencies of a timeline started. It is not stored: it follows from the traffic and the latencies.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use super::packed_record::SampleEnd;
use super::timeline::Timeline;
use crate::trace::{PhasePlan, Trace};
use crate::traffic::{LatencyStart, Shape, Trigger, first_tick_ns};

/// Tells when the latency of each sample started, ns from the start of the phase, sample by sample in issue order.
/// Queries that wait for an answer follow one another without a pause.
pub struct Starts<'a> {
    /// Samples in each query.
    each: u64,
    /// Samples that were told.
    samples: u64,
    /// When the query of the next sample started.
    start_ns: u64,
    from: Origin<'a>,
}

/// Source of the start times.
enum Origin<'a> {
    /// All is asked at once.
    Phase,
    /// The times at which queries are due.
    Due(Box<dyn Iterator<Item = u64> + 'a>),
    /// The end of the queries before.
    Issue { end_ns: u64 },
    /// Ticks of a fixed interval. One at which the query `below` places before has no answer is skipped.
    Ticks { interval_ns: u64, next_ns: u64, below: usize, ends_ns: VecDeque<u64>, end_ns: Option<u64> },
    /// The moments at which users are free, the earliest on top.
    Users { free_ns: BinaryHeap<Reverse<u64>>, think_ns: u64 },
}

impl<'a> Starts<'a> {
    /// Of the samples of this many queries of a phase.
    pub fn new(phase: &'a PhasePlan, shape: Shape, queries: u64, samples_per_query: u64) -> Starts<'a> {
        let each = if shape.latency_start == LatencyStart::Burst { shape.group } else { samples_per_query };
        let from = match (shape.latency_start, shape.trigger) {
            (LatencyStart::Issue, Trigger::Users { count, think_ns }) => {
                Origin::Users { free_ns: (0..count).map(|_| Reverse(0)).collect(), think_ns }
            }
            (LatencyStart::Due, Trigger::Ticks { interval_ns, below }) => {
                let below = usize::try_from(below / samples_per_query.max(1)).unwrap_or(usize::MAX);
                Origin::Ticks { interval_ns, next_ns: interval_ns, below, ends_ns: VecDeque::new(), end_ns: None }
            }
            (LatencyStart::Phase, _) => Origin::Phase,
            (LatencyStart::Due, _) => Origin::Due(Box::new(Trace::of(phase, queries).map(|query| query.due_ns))),
            (LatencyStart::Issue | LatencyStart::Burst, _) => Origin::Issue { end_ns: 0 },
        };
        Starts { each: each.max(1), samples: 0, start_ns: 0, from }
    }

    /// Of the next sample, which ended so.
    pub fn next(&mut self, end: SampleEnd) -> u64 {
        let begins_a_query = self.samples.is_multiple_of(self.each);
        self.samples += 1;
        match &mut self.from {
            Origin::Phase => {}
            Origin::Due(due_ns) if begins_a_query => self.start_ns = due_ns.next().unwrap_or(self.start_ns),
            Origin::Due(_) => {}
            Origin::Issue { end_ns } => {
                if begins_a_query {
                    self.start_ns = *end_ns;
                }
                if let SampleEnd::Done { latency_ns } = end {
                    *end_ns = (*end_ns).max(self.start_ns + latency_ns);
                }
            }
            Origin::Ticks { interval_ns, next_ns, below, ends_ns, end_ns } => {
                if begins_a_query {
                    ends_ns.extend(end_ns.take());
                    self.start_ns = free_tick(*next_ns, *interval_ns, *below, ends_ns);
                    *next_ns = self.start_ns + *interval_ns;
                }
                if let SampleEnd::Done { latency_ns } = end {
                    *end_ns = (*end_ns).max(Some(self.start_ns + latency_ns));
                }
            }
            Origin::Users { free_ns, think_ns } => {
                self.start_ns = free_ns.pop().map_or(self.start_ns, |Reverse(free_ns)| free_ns);
                let latency_ns = if let SampleEnd::Done { latency_ns } = end { latency_ns } else { 0 };
                free_ns.push(Reverse(self.start_ns + latency_ns + *think_ns));
            }
        }
        self.start_ns
    }
}

/// The first tick from `next_ns` on at which the query `below` places before is answered. `ends_ns` has the ends of the
/// queries before, in their order.
fn free_tick(next_ns: u64, interval_ns: u64, below: usize, ends_ns: &mut VecDeque<u64>) -> u64 {
    let mut tick_ns = next_ns;
    while ends_ns.len() >= below.max(1) {
        let Some(end_ns) = ends_ns.pop_front() else { break };
        tick_ns = first_tick_ns(tick_ns, end_ns, interval_ns);
    }
    tick_ns
}

impl Timeline {
    /// When the latency of each sample started, ns from the start of the phase, in issue order: see [`Starts`].
    pub fn starts<'a>(&'a self, phase: &'a PhasePlan, shape: Shape) -> impl Iterator<Item = u64> + 'a {
        let mut starts = Starts::new(phase, shape, self.queries, self.samples_per_query);
        self.samples().map(move |end| starts.next(end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_at_which_answers_are_missing_are_skipped() {
        let tick = |next_ns, below, ends: &[u64]| free_tick(next_ns, 20, below, &mut ends.iter().copied().collect());
        assert_eq!([tick(20, 1, &[]), tick(20, 1, &[19]), tick(20, 1, &[20])], [20; 3], "it came in time");
        assert_eq!([tick(20, 1, &[21]), tick(20, 1, &[70])], [40, 80]);
        assert_eq!([tick(20, 2, &[70]), tick(40, 2, &[70, 55])], [20, 80], "the one two places before counts");
    }
}
