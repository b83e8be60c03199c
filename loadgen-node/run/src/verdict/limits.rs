//! Latencies beside their limits, as the official rules judge them. Pure.

use std::fmt;

use loadgen::judge::early_stopping::percent;
use loadgen::judge::{LatencyStats, Summary};
use loadgen::plan::Effective;
use serde::{Deserialize, Serialize};

/// Quantity that has a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Limited {
    /// A sample, from when its query was due until its answer was whole.
    Latency,
    /// Time to the first token of a sample.
    Ttft,
    /// Time per output token after the first.
    Tpot,
}

impl fmt::Display for Limited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// A latency and its limit: part of `result_summary.json`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LatencyLimit {
    /// Quantity that has the limit.
    pub of: Limited,
    /// The percentile that is judged, in percent.
    pub percentile: f64,
    /// The latency at that percentile, ns; null where what is there was never answered.
    pub value_ns: Option<i64>,
    /// The limit, ns.
    pub limit_ns: u64,
    /// True when there is a value, and it does not exceed the limit. Early stopping may need more queries to be sure.
    pub kept: bool,
}

impl LatencyLimit {
    /// Every limit of the run; none where the scenario has none.
    pub(crate) fn all(summary: &Summary, effective: &Effective) -> Vec<LatencyLimit> {
        if !effective.scenario.judge().has_latency_limit(&effective.terms()) {
            return Vec::new();
        }
        let percentile = percent(summary.target_percentile);
        let limit = |of, stats: &LatencyStats, limit_ns| {
            let value_ns = stats.measured_target_ns(summary.target_percentile);
            let kept = value_ns.is_some_and(|ns| u64::try_from(ns).is_ok_and(|ns| ns <= limit_ns));
            (stats.count > 0).then_some(LatencyLimit { of, percentile, value_ns, limit_ns, kept })
        };
        let limits = match &summary.tokens {
            None => [limit(Limited::Latency, summary.judged_latency(), effective.target_latency_ns), None],
            Some(tokens) => [
                limit(Limited::Ttft, &tokens.first_token, effective.settings.server_ttft_latency),
                limit(Limited::Tpot, &tokens.per_token, effective.settings.server_tpot_latency),
            ],
        };
        limits.into_iter().flatten().collect()
    }
}
