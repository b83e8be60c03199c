//! The strict verdict on what was measured, with reasons that say how much is missing.

use core::time::Duration;

use crate::effective::Effective;
use crate::judge::{Summary, TokenSummary, Verdict};
use crate::recorder::Counts;

/// The strict verdict on one or several phases.
pub(super) fn verdict_of(effective: &Effective, summary: Option<&Summary>, counts: &Counts) -> Verdict {
    let mut verdict = Verdict::default();
    if let Some(summary) = summary {
        add_official_reasons(&mut verdict, effective, summary);
    }
    verdict.add_samples("failed_samples", counts.failed, "failed");
    verdict.add_samples("lost_samples", counts.lost, "got no answer");
    verdict.add_samples("duplicate_samples", counts.duplicate, "were answered again");
    verdict.add_samples("late_samples", counts.late, "were answered after they had been given up");
    verdict.add_samples("unknown_samples", counts.unknown, "were answered that had not been issued");
    verdict.add_samples("token_faults", counts.token_faults, "had unusable token information");
    verdict
}

fn add_official_reasons(verdict: &mut Verdict, effective: &Effective, summary: &Summary) {
    let checks = summary.checks;
    verdict.official = Some(summary.is_valid());
    if checks.performance_constraints == Some(false) {
        verdict.add("performance_constraints", over_limit(effective, summary));
    }
    if !checks.min_duration {
        let wanted = Duration::from_millis(effective.min_duration_ms);
        let expected = effective.scenario.judge().longer_with();
        verdict.add("min_duration", format!("the run was shorter than min_duration ({wanted:?}): set {expected}"));
    }
    if !checks.min_queries {
        verdict.add("min_queries", "fewer queries or samples than required were issued");
    }
    if !checks.early_stopping {
        let percent = effective.target_latency_percentile * 100.0;
        verdict.add(
            "early_stopping",
            format!(
                "{} samples are too few to say of the {percent}th percentile that it is within its limit (early \
                 stopping): run longer",
                summary.latency.count
            ),
        );
    }
}

/// Says which of the judged values are over their limits, and by how much.
fn over_limit(effective: &Effective, summary: &Summary) -> String {
    let latency = ("the latency", summary.judged_latency().target_ns, effective.target_latency_ns, "target_latency");
    let judged = match &summary.tokens {
        Some(TokenSummary { first_token, per_token, .. }) if effective.use_token_latencies => vec![
            ("TTFT", first_token.target_ns, effective.ttft_latency_ns, "ttft_latency"),
            ("TPOT", per_token.target_ns, effective.tpot_latency_ns, "tpot_latency"),
        ],
        _ => vec![latency],
    };
    let percent = effective.target_latency_percentile * 100.0;
    let over = judged.into_iter().filter(|(_, value_ns, limit_ns, _)| *value_ns > *limit_ns as i64);
    let over = over.map(|(what, value_ns, limit_ns, key)| {
        let [value, limit] = [value_ns as u64, limit_ns].map(Duration::from_nanos);
        format!("the {percent}th percentile of {what} is {value:.1?}, the limit is {limit:.1?} ({key})")
    });
    match over.collect::<Vec<_>>().join("; ") {
        // The estimate that early stopping judges lies above the percentile itself.
        none if none.is_empty() => {
            format!("the {percent}th percentile, estimated from so few queries, exceeds its limit")
        }
        over => over,
    }
}
