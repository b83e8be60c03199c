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
    /// Latency of each sample; [`NO_ANSWER`] without one.
    latencies_ns: Vec<u64>,
    open_queries: u64,
}

/// The latency of a sample without an answer, until the series is closed.
const NO_ANSWER: u64 = u64::MAX;
/// Queries, and samples, for which there is room from the start: growing takes time that is not there.
const ROOM: u64 = 1 << 24;

impl Record {
    /// The empty record of a series whose first sample has this id.
    pub fn new(first_sample: SampleSeq, samples_per_query: u64) -> Self {
        let samples_per_query = samples_per_query.max(1);
        Self { first_sample, samples_per_query, queries: Vec::new(), latencies_ns: Vec::new(), open_queries: 0 }
    }

    /// The same with room for so many queries.
    pub fn with_room(self, queries: u64) -> Self {
        let samples = queries.saturating_mul(self.samples_per_query).min(ROOM);
        Self {
            queries: Vec::with_capacity(queries.min(ROOM) as usize),
            latencies_ns: Vec::with_capacity(samples as usize),
            ..self
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
        self.latencies_ns.resize(self.latencies_ns.len() + self.samples_per_query as usize, NO_ANSWER);
        self.open_queries += 1;
    }

    /// Notes the answer to a sample; returns whether it was awaited.
    pub fn answered(&mut self, sample: SampleSeq, at_ns: u64) -> bool {
        let Some((position, query)) = self.ended(sample, at_ns) else { return false };
        let latency_ns = at_ns.saturating_sub(self.queries[query].scheduled_ns);
        self.latencies_ns[position] = latency_ns;
        true
    }

    /// Notes that a sample will have no answer: its query waits for it no longer.
    pub fn failed(&mut self, sample: SampleSeq, at_ns: u64) {
        self.ended(sample, at_ns);
    }

    /// Notes the end of a sample, each of which ends once; returns its position and that of its query. `None`: it was
    /// not awaited.
    fn ended(&mut self, sample: SampleSeq, at_ns: u64) -> Option<(usize, usize)> {
        let position = usize::try_from(sample.0.checked_sub(self.first_sample.0)?).ok()?;
        let number = position / self.samples_per_query as usize;
        self.latencies_ns.get(position).filter(|latency| **latency == NO_ANSWER)?;
        let query = self.queries.get_mut(number)?;
        query.answered_ns = query.answered_ns.max(at_ns);
        query.open = query.open.checked_sub(1)?;
        self.open_queries -= u64::from(query.open == 0);
        Some((position, number))
    }

    /// Ends the record. A sample without an answer has the time until then for its latency, and more than this limit
    /// and than every answer.
    pub fn close(&mut self, end_ns: u64, limit_ns: u64) {
        let answered = self.sample_latencies_ns().max().unwrap_or(0);
        let least_ns = answered.max(limit_ns).saturating_add(1);
        for (position, latency) in self.latencies_ns.iter_mut().enumerate().filter(|(_, ns)| **ns == NO_ANSWER) {
            let Some(query) = self.queries.get_mut(position / self.samples_per_query as usize) else { break };
            *latency = end_ns.saturating_sub(query.scheduled_ns).max(least_ns).min(NO_ANSWER - 1);
            query.answered_ns = query.answered_ns.max(query.scheduled_ns.saturating_add(*latency));
        }
    }

    /// The queries that were issued, in order.
    pub fn queries(&self) -> &[IssuedQuery] {
        &self.queries
    }

    /// The latencies of answered samples, in the order of the samples.
    pub fn sample_latencies_ns(&self) -> impl Iterator<Item = u64> {
        self.latencies_ns.iter().copied().filter(|latency| *latency != NO_ANSWER)
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

    #[test]
    fn a_sample_without_an_answer_is_slower_than_all_and_than_the_limit() {
        let mut record = Record::new(SampleSeq(0), 2);
        record.issued(Slot { scheduled_ns: 50, intervals: 1 }, 50);
        record.issued(Slot { scheduled_ns: 100, intervals: 1 }, 100);
        record.answered(SampleSeq(0), 80);
        record.failed(SampleSeq(1), 90);
        assert_eq!((record.answered_ns(0), record.outstanding()), (Some(90), 1), "nobody waits for it");
        record.close(500, 600);
        assert_eq!(record.sample_latencies_ns().collect::<Vec<_>>(), [30, 601, 601, 601]);
        assert_eq!(record.queries()[0].latency_ns(), 601);
        record.close(9_000, 600);
        assert_eq!(record.queries()[1].latency_ns(), 601, "closed once");
    }
}
