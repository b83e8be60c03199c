//! Measurements of a performance phase, in the form in which it is judged.

use super::burst_facts::BurstTimes;
use super::latencies::Latencies;

/// Latencies and times of a performance phase. Latencies need no order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured {
    /// Latency of each sample, ns; of one without an answer, more than any limit.
    pub sample_latencies_ns: Latencies,
    /// Number of these samples that got no answer.
    pub unanswered: u64,
    /// Number of queries that have a sample without an answer; 0 unless queries have several samples.
    pub unanswered_queries: u64,
    /// Number of samples that had no first token. The first-token latencies include each of them as over any limit.
    pub without_first_token: u64,
    /// Latency of each query, ns; empty unless queries have several samples (MultiStream).
    pub query_latencies_ns: Latencies,
    /// Latency of each first token, ns; empty unless token latencies are used.
    pub first_token_latencies_ns: Latencies,
    /// Time per output token after the first of each sample, ns; empty unless token latencies are used.
    pub times_per_token_ns: Latencies,
    /// Tokens in all answers.
    pub tokens: i64,
    /// Number of queries issued.
    pub queries_issued: u64,
    /// Largest latency of a sample, s.
    pub max_latency_s: f64,
    /// Due time of the last issued query, s from the start.
    pub final_query_scheduled_s: f64,
    /// When the last issued query was issued, s from the start.
    pub final_query_issued_s: f64,
    /// When the last sample of the last issued query was answered, s from the start.
    pub final_query_done_s: f64,
    /// Whole bursts, in scenarios that ask in bursts.
    pub bursts: Option<BurstTimes>,
}

impl Measured {
    /// Sorts all latencies, each kind by itself.
    pub(super) fn sort(&mut self) {
        self.sample_latencies_ns.sort();
        self.query_latencies_ns.sort();
        self.first_token_latencies_ns.sort();
        self.times_per_token_ns.sort();
        if let Some(bursts) = &mut self.bursts {
            bursts.sort();
        }
    }
}
