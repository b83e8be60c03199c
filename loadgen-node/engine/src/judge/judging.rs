//! Judging a performance phase: from measured latencies to a complete [`Summary`].
//!
//! Only arithmetic on values already collected; the words of the advice are the official ones.

use super::early_stopping::{Judgement, Subject};
use super::latencies::Sorted;
use super::measured::Measured;
use super::phase_limits::{Terms, TokenLimits, Users};
use super::rules::Judge;
use super::stats::{LatencyStats, PERCENTILES, position};
use super::summary::{
    Advice, Checks, EarlyStopping, InferredTokens, Metric, Rates, Summary, TokenSummary, UsersSummary,
};

/// Judges what was measured by the rules of a scenario. Sorts the latencies in place.
pub fn judge(rules: &dyn Judge, terms: &Terms, mut measured: Measured) -> Summary {
    measured.sort();
    Judging { terms, rules, measured: &measured }.summary()
}

/// A phase that is being judged.
struct Judging<'a> {
    terms: &'a Terms,
    rules: &'a dyn Judge,
    measured: &'a Measured,
}

impl Judging<'_> {
    fn summary(&self) -> Summary {
        let m = self.measured;
        let latency = self.stats(m.sample_latencies_ns.sorted(), m.unanswered);
        let tokens = self.terms.tokens.map(|limits| (limits, self.tokens(&latency)));
        let early_stopping = self.early_stopping();
        let (checks, advice) = self.checks(&latency, tokens.as_ref(), &early_stopping);
        let rates = self.rates(&latency);
        Summary {
            queries: m.queries_issued,
            target_percentile: self.terms.target_percentile,
            query_latency: (m.query_latencies_ns.count() > 0)
                .then(|| self.stats(m.query_latencies_ns.sorted(), m.unanswered_queries)),
            overlatency_count: m.sample_latencies_ns.sorted().over(self.terms.target_latency_ns),
            metric: self.metric(&rates, &early_stopping),
            rates,
            inferred: self.terms.inferred_tokens_per_sample.map(|factor| self.inferred(factor)),
            latency,
            compared_tokens_per_s: tokens.as_ref().map(|(_, tokens)| self.rules.tokens_per_s(tokens)),
            tokens: tokens.map(|(_, tokens)| tokens),
            checks,
            advice,
            early_stopping,
            bursts: m.bursts.as_ref().map(|bursts| bursts.summary(|latencies| self.stats(latencies.sorted(), 0))),
            users: self.terms.users.map(|users| self.users(users)),
        }
    }

    /// Little's law: with all users busy, queries in flight share a user's time with thinking.
    fn users(&self, users: Users) -> UsersSummary {
        let (m, latencies) = (self.measured, self.measured.sample_latencies_ns.sorted());
        let mean_ns = latencies.sum() as f64 / latencies.count().max(1) as f64;
        let whole_ns = m.final_query_done_s.max(m.final_query_issued_s) * 1e9;
        UsersSummary {
            users: users.count,
            in_flight: if whole_ns > 0.0 { latencies.sum() as f64 / whole_ns } else { 0.0 },
            // The share of a user's time is divided first: without a think time it is 1, whatever the mean.
            expected_in_flight: users.count as f64 * (mean_ns / (mean_ns + users.think_ns as f64).max(1.0)),
        }
    }

    fn stats(&self, sorted_ns: Sorted<'_>, unanswered: u64) -> LatencyStats {
        let (Some(min_ns), Some(max_ns)) = (sorted_ns.at(0), sorted_ns.last()) else {
            return LatencyStats::default();
        };
        let (count, sum) = (sorted_ns.count(), sorted_ns.sum());
        let at = |fraction: f64| sorted_ns.at(position(count, fraction)).unwrap_or(max_ns);
        LatencyStats {
            count,
            unanswered,
            min_ns,
            max_ns,
            mean_ns: (sum / i128::from(count)) as i64,
            percentiles_ns: PERCENTILES.map(at),
            target_ns: at(self.terms.target_percentile),
        }
    }

    /// Samples that were answered. Rates count no others.
    fn completed(&self) -> u64 {
        self.measured.sample_latencies_ns.count().saturating_sub(self.measured.unanswered)
    }

    /// One less than the number of answered samples: gaps between samples, which is what the official rates count.
    fn sample_gaps(&self) -> f64 {
        self.completed().saturating_sub(1) as f64
    }

    /// Where nothing was answered, formulas may give a number all the same; an estimate may be that of what never was.
    fn metric(&self, rates: &Rates, early_stopping: &EarlyStopping) -> Metric {
        let slowest_ns = self.slowest_estimated_ns();
        let estimate_ns = early_stopping.estimate_ns().filter(|ns| slowest_ns.is_some_and(|most| *ns <= most as f64));
        let metric = self.rules.metric(rates, estimate_ns);
        Metric { value: metric.value.filter(|_| self.completed() > 0), ..metric }
    }

    /// The latencies that early stopping estimates, and how many of them have no answer. Queries of several samples are
    /// judged as queries, in token runs too.
    fn estimated(&self) -> (Sorted<'_>, u64) {
        let m = self.measured;
        if m.query_latencies_ns.count() > 0 {
            (m.query_latencies_ns.sorted(), m.unanswered_queries)
        } else if self.terms.tokens.is_some() {
            (m.first_token_latencies_ns.sorted(), m.without_first_token)
        } else {
            (m.sample_latencies_ns.sorted(), m.unanswered)
        }
    }

    /// The slowest answer among them.
    fn slowest_estimated_ns(&self) -> Option<i64> {
        let (latencies_ns, unanswered) = self.estimated();
        let answered = latencies_ns.count().checked_sub(unanswered)?;
        latencies_ns.at(answered.checked_sub(1)?)
    }

    fn rates(&self, latency: &LatencyStats) -> Rates {
        let m = self.measured;
        Rates {
            scheduled_samples_per_s: self.sample_gaps() / m.final_query_scheduled_s,
            completed_samples_per_s: self.sample_gaps() / m.final_query_done_s,
            samples_per_s: self.completed() as f64 / m.max_latency_s,
            qps_with_overhead: self.sample_gaps() / m.final_query_issued_s,
            qps_without_overhead: self.share_completed() / (latency.mean_ns as f64 / 1e9),
            target_latency_ns: latency.measured_target_ns(self.terms.target_percentile).map(|ns| ns as f64),
        }
    }

    /// Share of the samples that were answered; exactly 1 when all were.
    fn share_completed(&self) -> f64 {
        if self.measured.unanswered == 0 {
            return 1.0;
        }
        self.completed() as f64 / self.measured.sample_latencies_ns.count() as f64
    }

    fn tokens(&self, latency: &LatencyStats) -> TokenSummary {
        let m = self.measured;
        let tokens = m.tokens as f64;
        TokenSummary {
            first_token: self.stats(m.first_token_latencies_ns.sorted(), m.without_first_token),
            per_token: if m.first_token_latencies_ns.count() == 0 {
                LatencyStats::default()
            } else {
                self.stats(m.times_per_token_ns.sorted(), m.unanswered)
            },
            completed_tokens_per_s: tokens / m.final_query_done_s,
            tokens_per_s: tokens / m.max_latency_s,
            tps_with_overhead: tokens / m.final_query_issued_s,
            tps_without_overhead: tokens / (latency.mean_ns as f64 / 1e9 * latency.count as f64),
        }
    }

    fn inferred(&self, tokens_per_sample: u64) -> InferredTokens {
        let m = self.measured;
        let factor = tokens_per_sample as f64;
        InferredTokens {
            completed_tokens_per_s: factor * self.sample_gaps() / m.final_query_done_s,
            tokens_per_s: factor * self.completed() as f64 / m.max_latency_s,
        }
    }

    fn early_stopping(&self) -> EarlyStopping {
        let m = self.measured;
        let (estimated_ns, _) = self.estimated();
        let Some(limits) = self.terms.tokens else {
            return EarlyStopping::Latency(self.judge_rule(estimated_ns, self.terms.target_latency_ns));
        };
        let has_queries = m.query_latencies_ns.count() > 0;
        let per_token_ns = if has_queries { estimated_ns } else { m.times_per_token_ns.sorted() };
        let per_token = self.judge_rule(per_token_ns, limits.tpot_ns);
        let first_token =
            if per_token.met { self.judge_rule(estimated_ns, limits.ttft_ns) } else { Judgement::default() };
        EarlyStopping::Tokens { first_token, per_token }
    }

    fn judge_rule(&self, latencies_ns: Sorted<'_>, limit_ns: u64) -> Judgement {
        self.rules.early_stopping().judge(Subject {
            latencies_ns,
            queries: self.measured.queries_issued,
            percentile: self.terms.target_percentile,
            limit_ns,
        })
    }

    fn checks(
        &self,
        latency: &LatencyStats,
        tokens: Option<&(TokenLimits, TokenSummary)>,
        early_stopping: &EarlyStopping,
    ) -> (Checks, Vec<Advice>) {
        let (m, terms) = (self.measured, self.terms);
        let latency_advice = self.rules.has_latency_limit(self.terms).then(|| self.latency_advice(latency, tokens));
        let duration = self.rules.judged_duration(m);
        let min_duration = duration.seconds >= terms.min_duration_ms as f64 / 1000.0;
        let min_queries = m.queries_issued >= terms.min_query_count && self.completed() >= terms.min_sample_count;
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
        advice.extend((!min_duration).then(|| advise(duration.advice.to_owned())));
        advice.extend((!min_queries).then(too_few_queries));
        (checks, advice)
    }

    /// Returns the advice about latency; `None` when it is within its limits.
    fn latency_advice(&self, latency: &LatencyStats, tokens: Option<&(TokenLimits, TokenSummary)>) -> Option<Advice> {
        let exceeds = |ns: i64, limit_ns: u64| ns > i64::try_from(limit_ns).unwrap_or(i64::MAX);
        let Some((limits, tokens)) = tokens else {
            return exceeds(latency.target_ns, self.terms.target_latency_ns)
                .then(|| advise("Reduce target QPS to improve latency.".to_owned()));
        };
        let judged = [
            ("TTFT", tokens.first_token.target_ns, limits.ttft_ns),
            ("TPOT", tokens.per_token.target_ns, limits.tpot_ns),
        ];
        let failed: Vec<String> = judged
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
