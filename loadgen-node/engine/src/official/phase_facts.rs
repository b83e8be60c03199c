//! Facts about a performance phase: from the trace, from the logged numbers, or not at all.
//!
//! What is not known is filled in twice, with the least and with the most that the logs allow. A result on which both
//! fillings agree follows from what is known; the others stay unchecked.

use std::collections::BTreeSet;

use super::detail_log::{DETAIL_FILE, DetailLog};
use super::digits::printed_as;
use super::error::LogError;
use super::phase::{Tokens, TracedPhase};
use super::ranks::{Above, FIRST_TOKENS, Filling, PER_TOKEN, QUERIES, Ranks, SAMPLES};
use super::token_counts::TokenCounts;
use crate::judge::Measured;
use crate::plan::{Effective, MAX_SAMPLES_PER_PHASE};

/// Where the numbers of a phase come from.
pub(super) struct Sources<'a> {
    pub(super) log: &'a DetailLog,
    pub(super) effective: &'a Effective,
    pub(super) phase: Option<&'a TracedPhase>,
    pub(super) tokens: Option<&'a TokenCounts>,
    /// When the last query was due, where the settings say it, ns from the start.
    pub(super) last_due_ns: Option<u64>,
}

/// The phase in the form in which it is judged.
pub(super) struct PhaseFacts {
    /// For each filling, the phase with the earliest and the latest start. One of each where there is no doubt.
    pub(super) fillings: Vec<Vec<Measured>>,
    /// Keys of results that were taken as the log has them.
    pub(super) taken: BTreeSet<String>,
}

impl PhaseFacts {
    pub(super) fn new(sources: &Sources<'_>) -> Result<PhaseFacts, LogError> {
        let mut taken = BTreeSet::new();
        let mut fillings = Vec::new();
        for filling in [Filling::Least, Filling::Most] {
            let mut phases = match sources.phase {
                Some(phase) => phase.starts.iter().map(|start| phase.measured(*start)).collect(),
                None => vec![sources.by_numbers(filling, &mut taken)?],
            };
            phases.dedup();
            if sources.effective.settings.use_token_latencies {
                let traced_tokens = sources.phase.zip(sources.tokens).and_then(|(phase, counts)| phase.tokens(counts));
                phases
                    .iter_mut()
                    .for_each(|phase| sources.add_tokens(phase, traced_tokens.as_ref(), filling, &mut taken));
            }
            fillings.push(phases);
        }
        fillings.dedup();
        Ok(PhaseFacts { fillings, taken })
    }
}

impl Sources<'_> {
    /// The phase as far as the logged numbers show it.
    fn by_numbers(&self, filling: Filling, taken: &mut BTreeSet<String>) -> Result<Measured, LogError> {
        let queries: u64 = self.log.needed("result_query_count")?;
        let samples_per_query: u64 = self.log.needed("generated_samples_per_query")?;
        let samples = queries.saturating_mul(samples_per_query);
        let most = samples.max(queries);
        if most > MAX_SAMPLES_PER_PHASE {
            let why = format!("it has {most} samples, and {MAX_SAMPLES_PER_PHASE} are the most of a run");
            return Err(LogError::new(DETAIL_FILE, 0, why));
        }
        let above = self.above(taken);
        let mut latencies = |names, count| Ranks::of(self.log, names, count, taken).map(|r| r.filled(filling, above));
        let sample_latencies_ns = latencies(&SAMPLES, samples);
        let query_latencies_ns = latencies(&QUERIES, queries);
        let gaps = samples.saturating_sub(1) as f64;
        let mut time = |key: &str| self.time(gaps, key, filling, taken);
        let scheduled_s = time("result_scheduled_samples_per_sec");
        let open_s = if filling == Filling::Least { 0.0 } else { f64::INFINITY };
        let measured = Measured {
            final_query_issued_s: time("result_qps_with_loadgen_overhead"),
            final_query_scheduled_s: self.last_due_ns.map_or(scheduled_s, |ns| ns as f64 / 1e9),
            final_query_done_s: time("result_completed_samples_per_sec"),
            max_latency_s: self.log.number::<i64>("result_max_latency_ns").map_or(open_s, |ns| ns as f64 / 1e9),
            sample_latencies_ns: sample_latencies_ns.unwrap_or_default(),
            query_latencies_ns: query_latencies_ns.unwrap_or_default(),
            queries_issued: queries,
            ..Measured::default()
        };
        taken.insert("result_query_count".to_owned());
        if self.last_due_ns.is_some() {
            taken.remove("result_scheduled_samples_per_sec");
        }
        Ok(measured)
    }

    /// Returns the number of samples above the limit, where the log counts them.
    fn above(&self, taken: &mut BTreeSet<String>) -> Option<Above> {
        let key = "result_overlatency_query_count";
        let count = self.log.number(key)?;
        taken.insert(key.to_owned());
        Some(Above { count, limit_ns: i64::try_from(self.effective.target_latency_ns).unwrap_or(i64::MAX) })
    }

    /// A time in seconds, from the rate that the log has of it in six digits.
    fn time(&self, gaps: f64, key: &str, filling: Filling, taken: &mut BTreeSet<String>) -> f64 {
        let rates = self.log.last(key).and_then(|entry| printed_as(&entry.value)).filter(|rates| *rates.start() > 0.0);
        let Some(rates) = rates else {
            return if filling == Filling::Least { 0.0 } else { f64::INFINITY };
        };
        taken.insert(key.to_owned());
        gaps / if filling == Filling::Least { rates.end() } else { rates.start() }
    }

    /// The number of tokens, from the rate that the log has of them: nothing else says it. Without a rate it is open.
    fn token_count(&self, phase: &Measured, filling: Filling, taken: &mut BTreeSet<String>) -> i64 {
        let (key, seconds) = match self.effective.scenario.judge().has_token_latencies() {
            true => ("result_completed_tokens_per_second", phase.final_query_done_s),
            false => ("result_tokens_per_second", phase.max_latency_s),
        };
        let rates = self.log.last(key).and_then(|entry| printed_as(&entry.value)).filter(|rates| *rates.start() > 0.0);
        taken.extend(rates.as_ref().map(|_| key.to_owned()));
        match (rates, filling) {
            (Some(rates), Filling::Least) => (rates.start() * seconds).ceil() as i64,
            (Some(rates), Filling::Most) => (rates.end() * seconds).floor() as i64,
            (None, Filling::Least) => 0,
            (None, Filling::Most) => i64::MAX,
        }
    }

    fn add_tokens(
        &self,
        phase: &mut Measured,
        traced_tokens: Option<&Tokens>,
        filling: Filling,
        taken: &mut BTreeSet<String>,
    ) {
        phase.tokens = match traced_tokens {
            Some(tokens) => tokens.count,
            None => self.token_count(phase, filling, taken),
        };
        if !self.effective.scenario.judge().has_token_latencies() {
            return;
        }
        let count = phase.sample_latencies_ns.count();
        let mut of_log = |names| {
            let ranks = Ranks::of(self.log, names, count, taken);
            ranks.map(|ranks| ranks.filled(filling, None)).unwrap_or_default()
        };
        let traced = self.phase.map(TracedPhase::first_tokens).filter(|first| first.len() as u64 == count);
        phase.first_token_latencies_ns = traced.map_or_else(|| of_log(&FIRST_TOKENS), |first| first.to_vec().into());
        let per_token =
            traced_tokens.map(|tokens| &tokens.times_per_token_ns).filter(|times| times.len() as u64 == count);
        phase.times_per_token_ns = per_token.map_or_else(|| of_log(&PER_TOKEN), |times| times.clone().into());
    }
}
