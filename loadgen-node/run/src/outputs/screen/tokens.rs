//! The lines of token runs on the screen: first tokens, time per token, tokens per second.

use loadgen::judge::early_stopping::percent;
use loadgen::judge::{LatencyStats, Summary};
use loadgen::run::LatencyKind;

use super::latencies::{latency_text, limit_text, spread_text};
use crate::verdict::limits::LatencyLimit;

/// Title and text of each line; none unless the run is judged by its tokens. Each has the limit of its kind, if any.
pub(crate) fn lines(summary: &Summary, limits: &[LatencyLimit]) -> Vec<(&'static str, String)> {
    let Some(tokens) = &summary.tokens else { return Vec::new() };
    let line = |stats, of: LatencyKind, definition| {
        against(stats, summary.target_percentile, limits.iter().find(|limit| limit.of == of), definition)
    };
    let ttft = line(&tokens.first_token, LatencyKind::Ttft, "from when a query was due until its first token came");
    let tpot = line(&tokens.per_token, LatencyKind::Tpot, "(latency - TTFT) / (tokens - 1) of each answer");
    let rate = rate(summary).map(|rate| format!("{rate:.2} tokens/s"));
    let rate = rate.map(|rate| ("Tokens", rate));
    [ttft.map(|text| ("TTFT", text)), tpot.map(|text| ("TPOT", text)), rate].into_iter().flatten().collect()
}

/// Definition, limit and value side by side, and how the values are spread. The percentile that is judged is a
/// fraction. None where none was measured.
fn against(stats: &LatencyStats, fraction: f64, limit: Option<&LatencyLimit>, definition: &str) -> Option<String> {
    if stats.count == 0 {
        return None;
    }
    let limit = limit.map_or(String::new(), |limit| format!(", {}", limit_text(limit.limit_ns, limit.kept)));
    let value = latency_text(stats.measured_target_ns(fraction));
    Some(format!("p{} {value}{limit} ({definition}; {})", percent(fraction), spread_text(&stats.into())))
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
        let limit = |value_ns| LatencyLimit {
            of: LatencyKind::Ttft,
            percentile: 99.0,
            value_ns: Some(value_ns),
            limit_ns: 1_500,
            kept: value_ns <= 1_500,
        };
        let text = |ns| against(&stats(9, ns), 0.99, Some(&limit(ns)), "so").unwrap();
        let spread = "p50 1.0ns, p90 2.0ns, p99 5.0µs, p99.9 6.0ns, max 7.0ms";
        assert_eq!(text(1_500), format!("p99 1.5µs, limit 1.5µs: within (so; {spread})"));
        assert!(text(1_501).contains("limit 1.5µs: EXCEEDED"));
        assert!(against(&stats(9, 1_500), 0.99, None, "so").unwrap().starts_with("p99 1.5µs (so;"));
        assert_eq!(against(&stats(0, 0), 0.99, Some(&limit(1)), "so"), None);
    }

    #[test]
    fn what_was_never_answered_has_no_latency() {
        let lost = LatencyStats { unanswered: 2, ..stats(100, 1_501) };
        let spread = "p50 1.0ns, p90 2.0ns, p99 no answer, p99.9 no answer, max no answer";
        assert_eq!(against(&lost, 0.99, None, "so").unwrap(), format!("p99 no answer (so; {spread})"));
    }
}
