//! Judging of a performance series: its counts, times and latencies, and the rules that it keeps.

use super::effective::Effective;
use super::record::Record;
use super::scenario::{JudgedDuration, LatencyRule};
use crate::traffic::Layout;

/// Intervals that a query may cause at the judged percentile: fewer than this.
pub const INTERVALS_LIMIT: u64 = 2;

/// Counts, times and latencies of a performance series. Times are ns from its start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Measured {
    /// Number of queries issued.
    pub queries_issued: u64,
    /// The latency of each sample, in the order of the samples.
    pub sample_latencies_ns: Vec<u64>,
    /// The latency of each query of several samples; empty in other scenarios.
    pub query_latencies_ns: Vec<u64>,
    /// The intervals that each of these queries caused.
    pub query_intervals: Vec<u64>,
    /// The largest latency of a sample.
    pub max_latency_ns: u64,
    /// The moment at which the last query was scheduled.
    pub final_query_scheduled_ns: u64,
    /// The moment at which the last query was issued.
    pub final_query_issued_ns: u64,
    /// The moment at which the last query had all its answers.
    pub final_query_all_done_ns: u64,
}

impl Measured {
    /// The values that follow from the record of a series.
    pub fn new(effective: &Effective, record: &Record) -> Self {
        let queries = record.queries();
        let sample_latencies_ns: Vec<u64> = record.sample_latencies_ns().collect();
        let has_queries = effective.shape.layout == Layout::Window;
        let last = queries.last();
        Self {
            queries_issued: queries.len() as u64,
            max_latency_ns: sample_latencies_ns.iter().copied().max().unwrap_or(0),
            sample_latencies_ns,
            query_latencies_ns: if has_queries { queries.iter().map(|q| q.latency_ns()).collect() } else { Vec::new() },
            query_intervals: if has_queries { intervals_caused(effective, record) } else { Vec::new() },
            final_query_scheduled_ns: last.map_or(0, |query| query.scheduled_ns),
            final_query_issued_ns: last.map_or(0, |query| query.issued_ns),
            final_query_all_done_ns: last.map_or(0, |query| query.answered_ns),
        }
    }

    /// The moment that is compared with the minimum duration, ns.
    pub fn judged_duration_ns(&self, effective: &Effective) -> u64 {
        match effective.shape.judged_duration {
            JudgedDuration::LastIssue => self.final_query_issued_ns,
            JudgedDuration::LastDue => self.final_query_scheduled_ns,
            JudgedDuration::LargestLatency => self.max_latency_ns,
        }
    }
}

/// The intervals that each query caused: those before the query that waited for it. No query waited for the last ones;
/// theirs follow from their latency, in whole intervals begun.
fn intervals_caused(effective: &Effective, record: &Record) -> Vec<u64> {
    let (queries, ahead) = (record.queries(), effective.max_async_queries as usize);
    let caused = |(number, query): (usize, &super::record::IssuedQuery)| match queries.get(number.saturating_add(ahead))
    {
        Some(waiting) => waiting.intervals_before,
        None => (query.latency_ns() as f64 / 1e9 * effective.target_qps).ceil() as u64,
    };
    queries.iter().enumerate().map(caused).collect()
}

/// The rules of a result, each kept or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// The rule on latencies; `None` in scenarios without one.
    pub latency: Option<bool>,
    /// The minimum duration.
    pub min_duration: bool,
    /// The minimum counts of queries and samples.
    pub min_queries: bool,
}

impl Judgement {
    /// Judges what was measured.
    pub fn new(effective: &Effective, measured: &Measured) -> Self {
        let samples = measured.sample_latencies_ns.len() as u64;
        Self {
            latency: latency_rule(effective, measured),
            min_duration: measured.judged_duration_ns(effective) >= effective.requested.min_duration_ms * 1_000_000,
            min_queries: measured.queries_issued >= effective.min_query_count && samples >= effective.min_sample_count,
        }
    }

    /// The verdict VALID.
    pub fn is_valid(self) -> bool {
        self.latency.unwrap_or(true) && self.min_duration && self.min_queries
    }
}

fn latency_rule(effective: &Effective, measured: &Measured) -> Option<bool> {
    let percentile = effective.target_latency_percentile?;
    let within = |latencies: &[u64]| at_percentile(&sorted(latencies), percentile) <= effective.target_latency_ns;
    match effective.shape.latency_rule {
        LatencyRule::None => None,
        LatencyRule::Intervals => Some(at_percentile(&sorted(&measured.query_intervals), percentile) < INTERVALS_LIMIT),
        LatencyRule::Queries => Some(within(&measured.query_latencies_ns)),
        LatencyRule::Samples => Some(within(&measured.sample_latencies_ns)),
    }
}

/// The values in ascending order.
pub fn sorted(values: &[u64]) -> Vec<u64> {
    let mut values = values.to_vec();
    values.sort_unstable();
    values
}

/// The value at a percentile, a fraction, of sorted values: at the position that is their number times the percentile,
/// from 0 on. 0 when there are none.
pub fn at_percentile(sorted: &[u64], percentile: f64) -> u64 {
    let position = (sorted.len() as f64 * percentile) as usize;
    sorted.get(position).or(sorted.last()).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::super::issuer::Slot;
    use super::super::scenario::Scenario;
    use super::super::settings::Settings;
    use super::*;
    use crate::settings::Qsl;
    use crate::world::SampleSeq;

    const MS: u64 = 1_000_000;

    fn effective(scenario: Scenario, in_flight: u64) -> Effective {
        let settings = Settings {
            scenario,
            multi_stream_target_qps: 20.0,
            multi_stream_samples_per_query: 1,
            multi_stream_max_async_queries: in_flight,
            min_query_count: 2,
            min_duration_ms: 100,
            ..Settings::default()
        };
        Effective::new(&settings, Qsl { total: 9, performance: 9 }, &mut Vec::new()).unwrap()
    }

    /// A record of queries: tick in ms, intervals before it, latency in ms.
    fn record(queries: &[(u64, u64, u64)]) -> Record {
        let mut record = Record::new(SampleSeq(0), 1);
        for (number, (tick, intervals, latency)) in (0..).zip(queries) {
            record.issued(Slot { scheduled_ns: tick * MS, intervals: *intervals }, tick * MS);
            record.answered(SampleSeq(number), (tick + latency) * MS);
        }
        record
    }

    #[test]
    fn a_query_causes_the_intervals_before_the_one_that_waits_for_it() {
        let queries = [(50, 1, 120), (200, 3, 15), (250, 1, 75)];
        let caused = |in_flight| intervals_caused(&effective(Scenario::MultiStream, in_flight), &record(&queries));
        assert_eq!(caused(1), [3, 1, 2]);
        assert_eq!(caused(2), [1, 1, 2], "the last two by their latency");
    }

    #[test]
    fn percentiles_are_elements() {
        let ten: Vec<u64> = (1..=10).collect();
        assert_eq!([0.5, 0.9, 0.97, 1.0].map(|p| at_percentile(&ten, p)), [6, 10, 10, 10]);
        assert_eq!(at_percentile(&[], 0.5), 0);
    }

    #[test]
    fn each_rule_is_kept_or_not() {
        let judged = |scenario, queries: &[(u64, u64, u64)]| {
            let effective = effective(scenario, 1);
            Judgement::new(&effective, &Measured::new(&effective, &record(queries)))
        };
        let judgement = Judgement { latency: Some(true), min_duration: true, min_queries: true };
        assert_eq!(judged(Scenario::MultiStream, &[(50, 1, 15), (100, 1, 15)]), judgement);
        let slow = judged(Scenario::MultiStream, &[(50, 1, 60), (150, 2, 15)]);
        assert_eq!((slow.latency, slow.is_valid()), (Some(false), false));
        let short = judged(Scenario::SingleStream, &[(0, 0, 1)]);
        assert_eq!(short, Judgement { latency: None, min_duration: false, min_queries: false });
    }
}
