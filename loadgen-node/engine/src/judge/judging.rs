//! Judging a performance phase: from measured latencies to a complete [`Summary`].
//!
//! Only arithmetic on values already collected; the words of the verdict are the official ones.

mod measured;

pub use measured::Measured;

use crate::early_stopping::{Judgement, Subject, over_limit};
use crate::plan::Effective;
use crate::scenario::{self, Rules};
use crate::summary::{
    Advice, Checks, EarlyStopping, InferredTokens, LatencyStats, PERCENTILES, Rates, Summary, TokenSummary,
};

/// Judges what was measured. Sorts the latencies in place.
pub fn judge(effective: &Effective, mut measured: Measured) -> Summary {
    measured.sort();
    Judge { effective, rules: scenario::rules(effective.scenario), measured: &measured }.summary()
}

struct Judge<'a> {
    effective: &'a Effective,
    rules: &'static dyn Rules,
    measured: &'a Measured,
}

impl Judge<'_> {
    fn summary(&self) -> Summary {
        let m = self.measured;
        let latency = self.stats(&m.sample_latencies_ns);
        let tokens = self.effective.use_token_latencies.then(|| self.tokens(&latency));
        let early_stopping = self.early_stopping();
        let (checks, advice) = self.checks(&latency, tokens.as_ref(), &early_stopping);
        Summary {
            scenario: self.effective.scenario,
            mode: self.effective.mode,
            queries: m.queries_issued,
            target_percentile: self.effective.target_latency_percentile,
            query_latency: (!m.query_latencies_ns.is_empty()).then(|| self.stats(&m.query_latencies_ns)),
            overlatency_count: over_limit(&m.sample_latencies_ns, self.effective.target_latency_ns),
            rates: self.rates(&latency),
            inferred: self.effective.infer_token_latencies.then(|| self.inferred()),
            latency,
            tokens,
            checks,
            advice,
            early_stopping,
        }
    }

    fn stats(&self, sorted_ns: &[i64]) -> LatencyStats {
        let (Some(min_ns), Some(max_ns)) = (sorted_ns.first(), sorted_ns.last()) else {
            return LatencyStats::default();
        };
        let count = sorted_ns.len();
        let sum: i128 = sorted_ns.iter().map(|latency| i128::from(*latency)).sum();
        let at = |fraction: f64| sorted_ns[((count as f64 * fraction) as usize).min(count - 1)];
        LatencyStats {
            count: count as u64,
            min_ns: *min_ns,
            max_ns: *max_ns,
            mean_ns: (sum / count as i128) as i64,
            percentiles_ns: PERCENTILES.map(at),
            target_ns: at(self.effective.target_latency_percentile),
        }
    }

    /// One less than the number of samples: gaps between samples, which is what the official rates count.
    fn sample_gaps(&self) -> f64 {
        self.measured.sample_latencies_ns.len().saturating_sub(1) as f64
    }

    fn rates(&self, latency: &LatencyStats) -> Rates {
        let m = self.measured;
        Rates {
            scheduled_samples_per_s: self.sample_gaps() / m.final_query_scheduled_s,
            completed_samples_per_s: self.sample_gaps() / m.final_query_done_s,
            samples_per_s: latency.count as f64 / m.max_latency_s,
            qps_with_overhead: self.sample_gaps() / m.final_query_issued_s,
            qps_without_overhead: 1.0 / (latency.mean_ns as f64 / 1e9),
        }
    }

    fn tokens(&self, latency: &LatencyStats) -> TokenSummary {
        let m = self.measured;
        let tokens = m.tokens as f64;
        TokenSummary {
            first_token: self.stats(&m.first_token_latencies_ns),
            per_token: if m.first_token_latencies_ns.is_empty() {
                LatencyStats::default()
            } else {
                self.stats(&m.times_per_token_ns)
            },
            completed_tokens_per_s: tokens / m.final_query_done_s,
            tokens_per_s: tokens / m.max_latency_s,
            tps_with_overhead: tokens / m.final_query_issued_s,
            tps_without_overhead: tokens / (latency.mean_ns as f64 / 1e9 * latency.count as f64),
        }
    }

    fn inferred(&self) -> InferredTokens {
        let m = self.measured;
        let factor = self.effective.token_latency_scaling_factor as f64;
        InferredTokens {
            completed_tokens_per_s: factor * self.sample_gaps() / m.final_query_done_s,
            tokens_per_s: factor * m.sample_latencies_ns.len() as f64 / m.max_latency_s,
        }
    }

    fn early_stopping(&self) -> EarlyStopping {
        let (m, e) = (self.measured, self.effective);
        if !e.use_token_latencies {
            let own = if m.query_latencies_ns.is_empty() { &m.sample_latencies_ns } else { &m.query_latencies_ns };
            return EarlyStopping::Latency(self.judge_rule(own, e.target_latency_ns));
        }
        // Queries of several samples are judged as queries, in token runs too.
        let or_queries = |own| if m.query_latencies_ns.is_empty() { own } else { &m.query_latencies_ns };
        let per_token = self.judge_rule(or_queries(&m.times_per_token_ns), e.tpot_latency_ns);
        let first_token = if per_token.met {
            self.judge_rule(or_queries(&m.first_token_latencies_ns), e.ttft_latency_ns)
        } else {
            Judgement::default()
        };
        EarlyStopping::Tokens { first_token, per_token }
    }

    fn judge_rule(&self, latencies_ns: &[i64], limit_ns: u64) -> Judgement {
        self.rules.early_stopping().judge(Subject {
            latencies_ns,
            queries: self.measured.queries_issued,
            percentile: self.effective.target_latency_percentile,
            limit_ns,
        })
    }

    fn checks(
        &self,
        latency: &LatencyStats,
        tokens: Option<&TokenSummary>,
        early_stopping: &EarlyStopping,
    ) -> (Checks, Vec<Advice>) {
        let (m, e) = (self.measured, self.effective);
        let latency_advice = self.rules.has_latency_limit().then(|| self.latency_advice(latency, tokens));
        let (duration_s, duration_advice) = self.rules.judged_duration(m);
        let min_duration = duration_s >= e.min_duration_s();
        let samples = m.sample_latencies_ns.len() as u64;
        let min_queries = m.queries_issued >= e.min_query_count && samples >= e.min_sample_count;
        let checks = Checks {
            performance_constraints: latency_advice.as_ref().map(Option::is_none),
            min_duration,
            min_queries,
            early_stopping: match early_stopping {
                EarlyStopping::Latency(judgement) => judgement.met,
                EarlyStopping::Tokens { first_token, per_token } => first_token.met && per_token.met,
            },
        };
        let mut advice: Vec<Advice> = latency_advice.flatten().into_iter().collect();
        advice.extend((!min_duration).then(|| advise(duration_advice.to_owned())));
        advice.extend((!min_queries).then(too_few_queries));
        (checks, advice)
    }

    /// What to do about latency; `None` when it is within its limits.
    fn latency_advice(&self, latency: &LatencyStats, tokens: Option<&TokenSummary>) -> Option<Advice> {
        let exceeds = |ns: i64, limit_ns: u64| ns > i64::try_from(limit_ns).unwrap_or(i64::MAX);
        let Some(tokens) = tokens else {
            return exceeds(latency.target_ns, self.effective.target_latency_ns)
                .then(|| advise("Reduce target QPS to improve latency.".to_owned()));
        };
        let limits = [
            ("TTFT", tokens.first_token.target_ns, self.effective.ttft_latency_ns),
            ("TPOT", tokens.per_token.target_ns, self.effective.tpot_latency_ns),
        ];
        let failed: Vec<String> = limits
            .iter()
            .filter(|(_, ns, limit_ns)| exceeds(*ns, *limit_ns))
            .map(|(name, ..)| format!("{name} constrain not met: Reduce target QPS to improve latency."))
            .collect();
        (!failed.is_empty()).then(|| advise(failed.join("\n * ")))
    }
}

/// Advice whose detail form is the same on one line, with a blank after it.
fn advise(summary: String) -> Advice {
    let detail = summary.replace('\n', " ") + " ";
    Advice { summary, detail }
}

fn too_few_queries() -> Advice {
    let detail = "The test exited early, before enough queries were issued.".to_owned();
    let summary = format!("{detail}\n   See the detailed log for why this may have occurred.");
    Advice { summary, detail }
}
