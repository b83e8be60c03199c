//! Everything that is known about a judged performance phase; renderers only print it.

use crate::early_stopping::Judgement;
use crate::settings::{Mode, Scenario};

/// The percentiles that every report lists, as fractions.
pub const PERCENTILES: [f64; 6] = [0.50, 0.90, 0.95, 0.97, 0.99, 0.999];

/// Statistics over a set of latencies, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LatencyStats {
    /// Number of latencies.
    pub count: u64,
    /// Smallest.
    pub min_ns: i64,
    /// Largest.
    pub max_ns: i64,
    /// Mean, rounded towards zero.
    pub mean_ns: i64,
    /// At [`PERCENTILES`].
    pub percentiles_ns: [i64; PERCENTILES.len()],
    /// At the target percentile.
    pub target_ns: i64,
}

/// Rates of the phase. All are computed; which of them mean something depends on the scenario, see
/// [`Summary::metric`].
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
    /// Server.
    pub completed_tokens_per_s: f64,
    /// Offline.
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
    /// Early stopping is met.
    pub early_stopping: bool,
}

/// What to do about a failed condition, in the official words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advice {
    /// For the summary file; may span lines.
    pub summary: String,
    /// For the detail log.
    pub detail: String,
}

/// Early stopping: one judgement, or two in token runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EarlyStopping {
    /// Of the latencies.
    Latency(Judgement),
    /// Of first tokens and of times per token.
    Tokens {
        /// First tokens; judged only when the other is met.
        first_token: Judgement,
        /// Times per token.
        per_token: Judgement,
    },
}

/// The number by which runs are compared.
#[derive(Clone, Debug, PartialEq)]
pub struct Metric {
    /// Its official detail-log key.
    pub name: &'static str,
    /// The number, in full precision; none when too little was measured for one. The official keys have 0 then.
    pub value: Option<f64>,
    /// `ns` or `samples/s`.
    pub unit: &'static str,
}

/// A judged performance phase.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// The scenario.
    pub scenario: Scenario,
    /// The effective mode of the test.
    pub mode: Mode,
    /// Queries issued.
    pub queries: u64,
    /// The judged percentile, as a fraction.
    pub target_percentile: f64,
    /// Latencies of samples.
    pub latency: LatencyStats,
    /// Latencies of queries, where a query has several samples (MultiStream).
    pub query_latency: Option<LatencyStats>,
    /// Samples above the target latency.
    pub overlatency_count: u64,
    /// Rates.
    pub rates: Rates,
    /// Token results, in token runs.
    pub tokens: Option<TokenSummary>,
    /// Inferred token rates, when asked for.
    pub inferred: Option<InferredTokens>,
    /// The official conditions.
    pub checks: Checks,
    /// Advice for the failed ones, in official order.
    pub advice: Vec<Advice>,
    /// Early stopping.
    pub early_stopping: EarlyStopping,
}

impl Metric {
    pub(crate) fn new(name: &'static str, value: Option<f64>, unit: &'static str) -> Self {
        Self { name, value: value.filter(|value| value.is_finite()), unit }
    }
}

impl Summary {
    /// The official verdict: all four conditions hold. Logged errors do not matter to it.
    pub fn is_valid(&self) -> bool {
        let checks = self.checks;
        checks.performance_constraints.unwrap_or(true)
            && checks.min_duration
            && checks.min_queries
            && checks.early_stopping
    }

    /// The number by which runs of this scenario are compared.
    pub fn metric(&self) -> Metric {
        crate::scenario::rules(self.scenario).metric(self)
    }

    /// The latencies whose target percentile is reported: of queries where those are recorded, else of samples.
    pub fn judged_latency(&self) -> &LatencyStats {
        self.query_latency.as_ref().unwrap_or(&self.latency)
    }

    /// The estimate that is compared, where early stopping allowed one.
    pub(crate) fn estimate_ns(&self) -> Option<f64> {
        let judgement = self.final_judgement();
        judgement.met.then_some(judgement.estimate_ns as f64)
    }

    /// The judgement whose estimates are reported.
    pub(crate) fn final_judgement(&self) -> &Judgement {
        match &self.early_stopping {
            EarlyStopping::Latency(judgement) => judgement,
            EarlyStopping::Tokens { first_token, per_token } => {
                if per_token.met {
                    first_token
                } else {
                    per_token
                }
            }
        }
    }
}
