//! Everything that is known about a judged performance phase; reports only print it.

use serde::{Deserialize, Serialize};

use super::burst_facts::BurstSummary;
use super::early_stopping::Judgement;
use super::stats::LatencyStats;

/// The rates of a phase, per second. All are computed; which of them mean something depends on the scenario.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rates {
    /// Samples over the time until the last query was scheduled.
    pub scheduled_samples_per_s: f64,
    /// Samples over the time until the last query was answered.
    pub completed_samples_per_s: f64,
    /// Samples over the largest latency.
    pub samples_per_s: f64,
    /// Queries over the time until the last was issued.
    pub qps_with_overhead: f64,
    /// One over the mean latency.
    pub qps_without_overhead: f64,
    /// The latency at the judged percentile, ns, where that is the latency of an answer.
    pub target_latency_ns: Option<f64>,
}

/// Results of a run with token latencies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TokenSummary {
    /// Latencies of first tokens.
    pub first_token: LatencyStats,
    /// Times per output token after the first.
    pub per_token: LatencyStats,
    /// Tokens over the time until the last query was answered.
    pub completed_tokens_per_s: f64,
    /// Tokens over the largest latency.
    pub tokens_per_s: f64,
    /// Tokens over the time until the last query was issued.
    pub tps_with_overhead: f64,
    /// Tokens over the sum of latencies.
    pub tps_without_overhead: f64,
}

/// Token rates inferred from samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InferredTokens {
    /// Samples completed per second, times the tokens that each stands for: the rate that Server reports.
    pub completed_tokens_per_s: f64,
    /// Samples over the largest latency, times the tokens that each stands for: the rate that Offline reports.
    pub tokens_per_s: f64,
}

/// The four official conditions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checks {
    /// The judged percentile is within its limit; `None` where the scenario has no limit.
    pub performance_constraints: Option<bool>,
    /// The phase lasted long enough.
    pub min_duration: bool,
    /// It had enough queries and samples.
    pub min_queries: bool,
    /// The early-stopping rule is met.
    pub early_stopping: bool,
}

/// Advice about a failed condition, in the official words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advice {
    /// The text for the summary file, which may span lines.
    pub summary: String,
    /// The text for the detail log, on one line.
    pub detail: String,
}

/// Early stopping: one judgement, or two in token runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EarlyStopping {
    /// The judgement of the latencies.
    Latency(Judgement),
    /// The judgements of first tokens and of times per token.
    Tokens {
        /// The judgement of first tokens; they are judged only when `per_token` is met.
        first_token: Judgement,
        /// The judgement of times per token.
        per_token: Judgement,
    },
}

/// The number by which runs are compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Metric {
    /// The official detail-log key of the number.
    pub name: &'static str,
    /// The number, in full precision; none when too little was measured for one. The official keys have 0 then.
    pub value: Option<f64>,
    /// The unit: `ns` or `samples/s`.
    pub unit: &'static str,
}

/// A judged performance phase.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// Number of queries issued.
    pub queries: u64,
    /// The judged percentile, as a fraction.
    pub target_percentile: f64,
    /// Statistics of the samples' latencies.
    pub latency: LatencyStats,
    /// Latencies of queries, where a query has several samples (MultiStream).
    pub query_latency: Option<LatencyStats>,
    /// Samples above the target latency.
    pub overlatency_count: u64,
    /// The rates of the phase.
    pub rates: Rates,
    /// The number by which runs of the scenario are compared.
    pub metric: Metric,
    /// Token results, in token runs.
    pub tokens: Option<TokenSummary>,
    /// The rate by which token runs of the scenario are compared, tokens per second; in token runs.
    pub compared_tokens_per_s: Option<f64>,
    /// Token rates that are inferred, when the settings ask for them.
    pub inferred: Option<InferredTokens>,
    /// The four official conditions.
    pub checks: Checks,
    /// Advice for the failed ones, in official order.
    pub advice: Vec<Advice>,
    /// Judgement by early stopping.
    pub early_stopping: EarlyStopping,
    /// Whole bursts, in scenarios that ask in bursts.
    pub bursts: Option<BurstSummary>,
    /// Users and the queries that they had in flight, in scenarios with users.
    pub users: Option<UsersSummary>,
}

/// Users of the performance phase.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UsersSummary {
    /// Number of users: the setting `concurrency`.
    pub users: u64,
    /// Mean number of queries in flight, by Little's law: the sum of all latencies over the time until the last answer.
    pub in_flight: f64,
    /// The number that these latencies and the think time come to, if each user asks again at once.
    pub expected_in_flight: f64,
}

impl Metric {
    /// A value that is not finite becomes `None`.
    pub fn new(name: &'static str, value: Option<f64>, unit: &'static str) -> Self {
        Self { name, value: value.filter(|value| value.is_finite()), unit }
    }
}

impl Summary {
    /// Returns true when all four official conditions hold. They do not ask for an answer to every sample: the worth of
    /// a run is for a [`Verdict`](super::Verdict) to say.
    pub fn meets_rules(&self) -> bool {
        let checks = self.checks;
        checks.performance_constraints.unwrap_or(true)
            && checks.min_duration
            && checks.min_queries
            && checks.early_stopping
    }

    /// The latencies whose target percentile is reported: of queries where those are recorded, else of samples.
    pub fn judged_latency(&self) -> &LatencyStats {
        self.query_latency.as_ref().unwrap_or(&self.latency)
    }
}

impl EarlyStopping {
    /// The judgement whose estimates are reported: in token runs that of times per token, until it is met.
    pub(crate) fn reported(&self) -> &Judgement {
        match self {
            Self::Latency(judgement) => judgement,
            Self::Tokens { first_token, per_token } => {
                if per_token.met {
                    first_token
                } else {
                    per_token
                }
            }
        }
    }

    /// The judgement that takes most queries more.
    pub fn furthest(&self) -> &Judgement {
        match self {
            Self::Latency(judgement) => judgement,
            Self::Tokens { first_token, per_token } if first_token.missing > per_token.missing => first_token,
            Self::Tokens { per_token, .. } => per_token,
        }
    }

    /// The estimated latency, ns, where early stopping is met.
    pub(crate) fn estimate_ns(&self) -> Option<f64> {
        let judgement = self.reported();
        judgement.met.then_some(judgement.estimate_ns as f64)
    }
}
