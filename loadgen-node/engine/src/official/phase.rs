//! The performance phase as the trace shows it, in the form in which it is judged.

use super::detail_log::{DETAIL_FILE, DetailLog};
use super::error::LogError;
use super::token_counts::TokenCounts;
use super::trace_log::{TRACE_FILE, TraceLog, Traced};
use crate::judge::Measured;
use crate::plan::Effective;
use crate::traffic::LatencyStart;

/// The samples of the performance phase, in the order of their sequence numbers.
pub(super) struct TracedPhase {
    samples: Vec<(u64, Traced)>,
    /// Latencies of first tokens; empty where the trace does not have all of them.
    first_tokens: Vec<i64>,
    /// The earliest and the latest start that the trace allows, ns. The same where it shows the start.
    pub(super) starts: Vec<i64>,
    /// Queries of the phase that have a latency of their own.
    has_query_latencies: bool,
}

/// Token count of a phase, with the times per token of its samples.
pub(super) struct Tokens {
    pub(super) times_per_token_ns: Vec<i64>,
    pub(super) count: i64,
}

impl TracedPhase {
    /// Picks the samples of the last phase.
    pub(super) fn new(log: &DetailLog, trace: &TraceLog, effective: &Effective) -> Result<TracedPhase, LogError> {
        let first = first_sample(log)?;
        let samples: Vec<(u64, Traced)> = trace.samples.range(first..).map(|(seq, traced)| (*seq, *traced)).collect();
        let Some(earliest) = samples.iter().map(|(_, sample)| sample.scheduled_ns).min() else {
            return Err(LogError::new(TRACE_FILE, 0, format!("it has no sample from number {first} on")));
        };
        let starts = if effective.shape.latency_start == LatencyStart::Issue {
            let after = trace.generated.iter().copied().filter(|at| *at <= earliest).max();
            let after =
                after.ok_or_else(|| LogError::new(TRACE_FILE, 0, "it does not say when the queries were generated"))?;
            let until = trace.issuing.iter().copied().filter(|at| (after..=earliest).contains(at)).min();
            vec![after, until.unwrap_or(earliest)]
        } else {
            // The first query is due at the start.
            vec![earliest]
        };
        let first_tokens = first_tokens(trace, &samples);
        let has_query_latencies = effective.shape.has_query_latencies();
        Ok(TracedPhase { samples, first_tokens, starts, has_query_latencies })
    }

    /// Number of samples.
    pub(super) fn len(&self) -> usize {
        self.samples.len()
    }

    /// Latencies of first tokens; empty where the trace does not have all of them.
    pub(super) fn first_tokens(&self) -> &[i64] {
        &self.first_tokens
    }

    /// Everything but the tokens, for a phase that began at `start`.
    pub(super) fn measured(&self, start: i64) -> Measured {
        let queries = self.samples.chunk_by(|(_, a), (_, b)| a.query == b.query);
        let longest = |query: &[(u64, Traced)]| query.iter().map(|(_, sample)| sample.latency_ns).max().unwrap_or(0);
        let (mut query_latencies_ns, mut queries_issued, mut last) = (Vec::new(), 0, &self.samples[..0]);
        for query in queries {
            queries_issued += 1;
            last = query;
            if self.has_query_latencies {
                query_latencies_ns.push(longest(query));
            }
        }
        let scheduled_ns = last.first().map_or(0, |(_, sample)| sample.scheduled_ns - start);
        let issue_delay_ns = last.first().map_or(0, |(_, sample)| sample.issue_delay_ns);
        Measured {
            sample_latencies_ns: self.samples.iter().map(|(_, sample)| sample.latency_ns).collect::<Vec<_>>().into(),
            query_latencies_ns: query_latencies_ns.into(),
            queries_issued,
            max_latency_s: seconds(longest(&self.samples)),
            final_query_scheduled_s: seconds(scheduled_ns),
            final_query_issued_s: seconds(scheduled_ns + issue_delay_ns),
            final_query_done_s: seconds(scheduled_ns + longest(last)),
            ..Measured::default()
        }
    }

    /// Works out the token count and the times per token, where the accuracy log counts the tokens of every sample.
    pub(super) fn tokens(&self, counts: &TokenCounts) -> Option<Tokens> {
        let mut tokens = Tokens { times_per_token_ns: Vec::new(), count: 0 };
        for (index, (seq, sample)) in self.samples.iter().enumerate() {
            let count = *counts.0.get(seq).filter(|count| **count > 1)?;
            tokens.count = tokens.count.checked_add(count)?;
            let first = self.first_tokens.get(index);
            tokens.times_per_token_ns.extend(first.map(|first_ns| (sample.latency_ns - first_ns) / (count - 1)));
        }
        Some(tokens)
    }
}

/// The number of the first sample of the last phase: those of earlier phases come before it.
fn first_sample(log: &DetailLog) -> Result<u64, LogError> {
    let numbers = |key: &'static str| -> Result<Vec<u64>, LogError> {
        let why = |line| LogError::new(DETAIL_FILE, line, format!("{key} is not a whole number"));
        log.all(key).map(|entry| entry.value.parse().map_err(|_| why(entry.line))).collect()
    };
    let (queries, samples) = (numbers("generated_query_count")?, numbers("generated_samples_per_query")?);
    let phases: Vec<u64> = queries.iter().zip(&samples).map(|(queries, each)| queries.saturating_mul(*each)).collect();
    Ok(phases.iter().rev().skip(1).fold(0, |sum, phase| sum.saturating_add(*phase)))
}

/// First tokens are named by their sample or, in scenarios with a schedule, by its scheduled time.
fn first_tokens(trace: &TraceLog, samples: &[(u64, Traced)]) -> Vec<i64> {
    let mut by_schedule = trace.tokens_by_schedule.clone();
    let times: Option<Vec<i64>> = samples
        .iter()
        .map(|(seq, sample)| match trace.first_tokens.get(seq) {
            Some(first) => Some(first.latency_ns),
            None => by_schedule.get_mut(&sample.scheduled_ns)?.pop_front(),
        })
        .collect();
    times.unwrap_or_default()
}

fn seconds(ns: i64) -> f64 {
    ns as f64 / 1e9
}
