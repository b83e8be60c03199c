//! Latencies beside their limits, as the official rules judge them. Pure.

use loadgen::judge::early_stopping::percent;
use loadgen::judge::{LatencyStats, Summary};
use loadgen::plan::Effective;
use loadgen::run::LatencyKind;
use serde::{Deserialize, Serialize};

/// A latency and its limit: part of `result_summary.json`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LatencyLimit {
    /// The latency that has the limit.
    pub of: LatencyKind,
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
            None => [limit(LatencyKind::Latency, summary.judged_latency(), effective.target_latency_ns), None],
            Some(tokens) => [
                limit(LatencyKind::Ttft, &tokens.first_token, effective.settings.server_ttft_latency),
                limit(LatencyKind::Tpot, &tokens.per_token, effective.settings.server_tpot_latency),
            ],
        };
        limits.into_iter().flatten().collect()
    }
}
