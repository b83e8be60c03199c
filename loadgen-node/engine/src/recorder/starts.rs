//! When the latencies of a timeline started. It is not stored: it follows from the traffic and the latencies.

use super::cell::SampleEnd;
use super::timeline::Timeline;
use crate::trace::{PhasePlan, Trace};
use crate::traffic::Pacing;

impl Timeline {
    /// When the latency of each sample started, ns from the start of the phase, in issue order. Queries that wait for
    /// an answer follow one another without a pause.
    pub fn starts<'a>(&'a self, phase: &'a PhasePlan, pacing: Pacing) -> Box<dyn Iterator<Item = u64> + 'a> {
        let each = usize::try_from(self.samples_per_query.max(1)).unwrap_or(usize::MAX);
        match pacing {
            Pacing::Room => Box::new(std::iter::repeat_n(0, self.len())),
            Pacing::Schedule => {
                let due = Trace::of(phase, self.queries).map(|query| query.due_ns);
                Box::new(due.flat_map(move |due_ns| std::iter::repeat_n(due_ns, each)).take(self.len()))
            }
            Pacing::Reply { .. } => {
                let (mut start_ns, mut end_ns) = (0, 0);
                Box::new(self.samples().enumerate().map(move |(position, end)| {
                    if position % each == 0 {
                        start_ns = end_ns;
                    }
                    if let SampleEnd::Done { latency_ns } = end {
                        end_ns = end_ns.max(start_ns + latency_ns);
                    }
                    start_ns
                }))
            }
        }
    }
}
