//! Record of the queries of a series: the moments at which each was scheduled, issued and answered.
//!
//! All times are ns from the start of the series.

use super::issuer::{Answers, Slot};
use crate::world::SampleSeq;

/// One query that was issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IssuedQuery {
    /// The moment at which its latency starts.
    pub scheduled_ns: u64,
    /// The moment of its issue.
    pub issued_ns: u64,
    /// Ticks that passed from the query before it to this one.
    pub intervals_before: u64,
    /// The last answer to its samples so far.
    pub answered_ns: u64,
    /// Samples without an answer.
    open: u64,
}

/// The queries and samples of a series, in the order of their issue.
#[derive(Clone, Debug)]
pub struct Record {
    first_sample: SampleSeq,
    samples_per_query: u64,
    queries: Vec<IssuedQuery>,
    /// Latency of each sample; `None` without an answer.
    latencies_ns: Vec<Option<u64>>,
    open_queries: u64,
}

impl Record {
    /// The empty record of a series whose first sample has this id.
    pub fn new(first_sample: SampleSeq, samples_per_query: u64) -> Self {
        Self {
            first_sample,
            samples_per_query: samples_per_query.max(1),
            queries: Vec::new(),
            latencies_ns: Vec::new(),
            open_queries: 0,
        }
    }

    /// Notes that the next query is issued.
    pub fn issued(&mut self, slot: Slot, issued_ns: u64) {
        self.queries.push(IssuedQuery {
            scheduled_ns: slot.scheduled_ns,
            issued_ns,
            intervals_before: slot.intervals,
            answered_ns: 0,
            open: self.samples_per_query,
        });
        self.latencies_ns.resize(self.latencies_ns.len() + self.samples_per_query as usize, None);
        self.open_queries += 1;
    }

    /// Notes the answer to a sample; returns whether it was awaited.
    pub fn answered(&mut self, sample: SampleSeq, at_ns: u64) -> bool {
        let Some(position) = sample.0.checked_sub(self.first_sample.0) else { return false };
        let query = self.queries.get_mut((position / self.samples_per_query) as usize);
        let latency = self.latencies_ns.get_mut(position as usize).filter(|latency| latency.is_none());
        let (Some(query), Some(latency)) = (query, latency) else { return false };
        *latency = Some(at_ns.saturating_sub(query.scheduled_ns));
        query.answered_ns = query.answered_ns.max(at_ns);
        query.open -= 1;
        self.open_queries -= u64::from(query.open == 0);
        true
    }

    /// The queries that were issued, in order.
    pub fn queries(&self) -> &[IssuedQuery] {
        &self.queries
    }

    /// The latencies of answered samples, in the order of the samples.
    pub fn sample_latencies_ns(&self) -> impl Iterator<Item = u64> {
        self.latencies_ns.iter().filter_map(|latency| *latency)
    }
}

impl IssuedQuery {
    /// The latency of the query: that of its last sample.
    pub fn latency_ns(&self) -> u64 {
        self.answered_ns.saturating_sub(self.scheduled_ns)
    }
}

impl Answers for Record {
    fn answered_ns(&self, query: u64) -> Option<u64> {
        self.queries.get(query as usize).filter(|query| query.open == 0).map(|query| query.answered_ns)
    }

    fn outstanding(&self) -> u64 {
        self.open_queries
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_answered_with_its_last_sample() {
        let mut record = Record::new(SampleSeq(10), 2);
        record.issued(Slot { scheduled_ns: 50, intervals: 1 }, 50);
        record.issued(Slot { scheduled_ns: 100, intervals: 1 }, 100);
        assert!(record.answered(SampleSeq(11), 80));
        assert_eq!((record.answered_ns(0), record.outstanding()), (None, 2));
        assert!(record.answered(SampleSeq(10), 70));
        assert_eq!((record.answered_ns(0), record.outstanding()), (Some(80), 1));
        assert_eq!(record.queries()[0].latency_ns(), 30);
        assert!(!record.answered(SampleSeq(10), 90), "twice");
        assert!(!record.answered(SampleSeq(14), 90) && !record.answered(SampleSeq(9), 90), "of no query");
        assert_eq!(record.sample_latencies_ns().collect::<Vec<_>>(), [20, 30]);
    }
}
