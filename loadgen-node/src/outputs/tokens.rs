//! Token runs on the screen: first tokens, time per token, tokens per second.

use lon_shell::figures::duration_ns as human;

use crate::verdict::limits::{LatencyLimit, Limited};
use loadgen::judge::{LatencyStats, Summary};

/// Title and text of each line; none unless the run is judged by its tokens. Each has the limit of its kind, if any.
pub(crate) fn lines(summary: &Summary, limits: &[LatencyLimit]) -> Vec<(&'static str, String)> {
    let Some(tokens) = &summary.tokens else { return Vec::new() };
    let line = |stats, of: Limited, definition| {
        against(stats, summary.target_percentile * 100.0, limits.iter().find(|limit| limit.of == of), definition)
    };
    let ttft = line(&tokens.first_token, Limited::FirstToken, "from when a query was due until its first token came");
    let tpot = line(&tokens.per_token, Limited::PerToken, "(latency - TTFT) / (tokens - 1) of each answer");
    let rate = rate(summary).map(|rate| format!("{rate:.2} tokens/s"));
    let rate = rate.map(|rate| ("Tokens", rate));
    [ttft.map(|text| ("TTFT", text)), tpot.map(|text| ("TPOT", text)), rate].into_iter().flatten().collect()
}

/// Definition, limit and value side by side, and how the values are spread. None where none was measured.
fn against(stats: &LatencyStats, percentile: f64, limit: Option<&LatencyLimit>, definition: &str) -> Option<String> {
    if stats.count == 0 {
        return None;
    }
    let limit = limit.map_or(String::new(), |limit| format!(", {}", limit_text(limit.limit_ns, limit.is_kept())));
    let [p50, p90, _, _, p99, _] = stats.percentiles_ns.map(human);
    let (value, max) = (human(stats.target_ns), human(stats.max_ns));
    Some(format!("p{percentile} {value}{limit} ({definition}; p50 {p50}, p90 {p90}, p99 {p99}, max {max})"))
}

/// A limit and whether it was kept.
pub(crate) fn limit_text(limit_ns: u64, is_kept: bool) -> String {
    let text = human(i64::try_from(limit_ns).unwrap_or(i64::MAX));
    format!("limit {text}: {}", if is_kept { "within" } else { "EXCEEDED" })
}

/// The rate by which token runs of the scenario are compared; `None` when too little was measured for one.
pub(crate) fn rate(summary: &Summary) -> Option<f64> {
    summary.compared_tokens_per_s.filter(|rate| rate.is_finite() && *rate > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stats(count: u64, target_ns: i64) -> LatencyStats {
        LatencyStats {
            count,
            target_ns,
            percentiles_ns: [1, 2, 3, 4, 5_000, 6],
            max_ns: 7_000_000,
            ..LatencyStats::default()
        }
    }

    #[test]
    fn limit_and_value_stand_side_by_side() {
        let limit = |value_ns| LatencyLimit { of: Limited::FirstToken, percentile: 99.0, value_ns, limit_ns: 1_500 };
        let text = |ns| against(&stats(9, ns), 99.0, Some(&limit(ns)), "so").unwrap();
        assert_eq!(text(1_500), "p99 1.5µs, limit 1.5µs: within (so; p50 1.0ns, p90 2.0ns, p99 5.0µs, max 7.0ms)");
        assert!(text(1_501).contains("limit 1.5µs: EXCEEDED"));
        assert!(against(&stats(9, 1_500), 99.0, None, "so").unwrap().starts_with("p99 1.5µs (so;"));
        assert_eq!(against(&stats(0, 0), 99.0, Some(&limit(1)), "so"), None);
    }
}
