//! The contract of a scenario's file in this folder, first part: verdict and metric.

use super::early_stopping::Rule;
use super::measured::Measured;
use super::phase_limits::Terms;
use super::summary::{Metric, Rates, TokenSummary};

/// Rules by which a scenario is judged.
pub trait Judge: Sync {
    /// The duration that must reach `min_duration`, and what to do when it does not.
    fn judged_duration(&self, measured: &Measured) -> JudgedDuration;

    /// Returns true when the judged percentile of the latency must stay within a limit.
    fn has_latency_limit(&self, _terms: &Terms) -> bool {
        false
    }

    /// The early-stopping rule.
    fn early_stopping(&self) -> Rule {
        Rule::None
    }

    /// The number by which runs are compared. `estimate_ns` is the latency that early stopping estimates, if it is met.
    fn metric(&self, rates: &Rates, estimate_ns: Option<f64>) -> Metric;

    /// Returns true when first tokens and times per token are measured and reported in token runs.
    fn has_token_latencies(&self) -> bool {
        true
    }

    /// The rate of tokens by which token runs are compared, tokens per second.
    fn tokens_per_s(&self, tokens: &TokenSummary) -> f64 {
        tokens.completed_tokens_per_s
    }
}

/// The duration of a phase that is held against `min_duration`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JudgedDuration {
    /// The duration, s.
    pub seconds: f64,
    /// Advice for a duration that is too short, in the official words.
    pub advice: &'static str,
}

/// The official advice of scenarios that wait for answers, for runs that are too short.
pub(super) const DECREASE_EXPECTED_LATENCY: &str =
    "Decrease the expected latency so the loadgen pre-generates more queries.";
