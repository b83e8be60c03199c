//! Token runs on the screen: first tokens, time per token, tokens per second.

use std::time::Duration;

use lon_shell::figures::duration_ns as human;

use loadgen::judge::{LatencyStats, Summary};
use loadgen::plan::Effective;

/// Title and text of each line; none unless the run is judged by its tokens.
pub(crate) fn lines(summary: &Summary, effective: &Effective) -> Vec<(&'static str, String)> {
    let Some(tokens) = &summary.tokens else { return Vec::new() };
    let judged = effective.scenario.judge().has_latency_limit();
    let line = |stats, limit_ns: u64, definition| {
        let percentile = summary.target_percentile * 100.0;
        against(stats, percentile, judged.then_some(limit_ns), definition)
    };
    let ttft =
        line(&tokens.first_token, effective.ttft_latency_ns, "from when a query was due until its first token came");
    let tpot = line(&tokens.per_token, effective.tpot_latency_ns, "(latency - TTFT) / (tokens - 1) of each answer");
    let rate = rate(summary).map(|rate| format!("{rate:.2} tokens/s"));
    let rate = rate.map(|rate| ("Tokens", rate));
    [ttft.map(|text| ("TTFT", text)), tpot.map(|text| ("TPOT", text)), rate].into_iter().flatten().collect()
}

/// Definition, limit and value side by side, and how the values are spread. None where none was measured.
fn against(stats: &LatencyStats, percentile: f64, limit_ns: Option<u64>, definition: &str) -> Option<String> {
    if stats.count == 0 {
        return None;
    }
    let limit = limit_ns.map_or(String::new(), |limit_ns| {
        let within = u64::try_from(stats.target_ns).is_ok_and(|ns| ns <= limit_ns);
        let limit = format!("{:.1?}", Duration::from_nanos(limit_ns));
        format!(", limit {limit}: {}", if within { "within" } else { "EXCEEDED" })
    });
    let [p50, p90, _, _, p99, _] = stats.percentiles_ns.map(human);
    let (value, max) = (human(stats.target_ns), human(stats.max_ns));
    Some(format!("p{percentile} {value}{limit} ({definition}; p50 {p50}, p90 {p90}, p99 {p99}, max {max})"))
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
        let text = |target_ns, limit_ns| against(&stats(9, target_ns), 99.0, limit_ns, "so").unwrap();
        assert_eq!(
            text(1_500, Some(1_500)),
            "p99 1.5µs, limit 1.5µs: within (so; p50 1.0ns, p90 2.0ns, p99 5.0µs, max 7.0ms)"
        );
        assert!(text(1_501, Some(1_500)).contains("limit 1.5µs: EXCEEDED"));
        assert!(text(1_500, None).starts_with("p99 1.5µs (so;"));
        assert_eq!(against(&stats(0, 0), 99.0, Some(1), "so"), None);
    }
}
