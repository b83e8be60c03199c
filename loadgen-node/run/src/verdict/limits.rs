//! Latencies beside their limits, as the official rules judge them. Pure.

use loadgen::judge::early_stopping::percent;
use loadgen::judge::{LatencyStats, Summary};
use loadgen::plan::Effective;

/// Quantity that has a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limited {
    /// A sample, from when its query was due until its answer was whole.
    Latency,
    /// The first token of a sample.
    FirstToken,
    /// The time per token after the first.
    PerToken,
}

/// One latency and its limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LatencyLimit {
    pub(crate) of: Limited,
    /// The percentile that is judged, in percent.
    pub(crate) percentile: f64,
    /// The latency at that percentile; none where what is there was never answered.
    pub(crate) value_ns: Option<i64>,
    pub(crate) limit_ns: u64,
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
            (stats.count > 0).then_some(LatencyLimit { of, percentile, value_ns, limit_ns })
        };
        let limits = match &summary.tokens {
            None => [limit(Limited::Latency, summary.judged_latency(), effective.target_latency_ns), None],
            Some(tokens) => [
                limit(Limited::FirstToken, &tokens.first_token, effective.settings.server_ttft_latency),
                limit(Limited::PerToken, &tokens.per_token, effective.settings.server_tpot_latency),
            ],
        };
        limits.into_iter().flatten().collect()
    }

    /// There is a value, and it does not exceed the limit. Whether enough queries were measured to say so is another
    /// question.
    pub(crate) fn is_kept(&self) -> bool {
        self.value_ns.is_some_and(|ns| u64::try_from(ns).is_ok_and(|ns| ns <= self.limit_ns))
    }
}
