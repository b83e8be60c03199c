//! The strict verdict on what was measured, with reasons that say how much is missing.

use core::time::Duration;

use crate::effective::Effective;
use crate::judge::early_stopping::percent;
use crate::judge::{Counts, Summary, TokenSummary, Verdict};

/// The strict verdict on one or several phases.
pub(crate) fn verdict_of(effective: &Effective, summary: Option<&Summary>, counts: &Counts) -> Verdict {
    let mut verdict = Verdict::new(summary, counts);
    if let Some(summary) = summary {
        add_official_reasons(&mut verdict, effective, summary);
    }
    verdict
}

fn add_official_reasons(verdict: &mut Verdict, effective: &Effective, summary: &Summary) {
    let checks = summary.checks;
    if checks.performance_constraints == Some(false) {
        verdict.add_rule("performance_constraints", over_limit(effective, summary));
    }
    if !checks.min_duration {
        let wanted = Duration::from_millis(effective.min_duration_ms);
        verdict.add_rule("min_duration", format!("the run was shorter than min_duration ({wanted:?})"));
    }
    if !checks.min_queries {
        verdict.add_rule("min_queries", "fewer queries or samples than required were answered");
    }
    if !checks.early_stopping {
        let fraction = effective.target_latency_percentile;
        let (percent, least) = (percent(fraction), effective.scenario.judge().early_stopping().least_queries(fraction));
        // More of them, where some are over the limit: the advice beside the verdict says how many.
        let what_to_do = match summary.queries < least {
            true => format!("it takes {least} at least"),
            false if checks.performance_constraints == Some(false) => {
                "too many of them are over the limit, and more queries alone do not change that".to_owned()
            }
            false => "run longer".to_owned(),
        };
        verdict.add_rule(
            "early_stopping",
            format!(
                "{} queries are too few to say anything of the {percent}th percentile (early stopping): {what_to_do}",
                summary.queries
            ),
        );
    }
}

/// Says which of the judged values are over their limits, and by how much.
fn over_limit(effective: &Effective, summary: &Summary) -> String {
    let latency = ("the latency", summary.judged_latency(), effective.target_latency_ns, "target_latency");
    let judged = match &summary.tokens {
        Some(TokenSummary { first_token, per_token, .. }) if effective.use_token_latencies => vec![
            ("TTFT", first_token, effective.ttft_latency_ns, "ttft_latency"),
            ("TPOT", per_token, effective.tpot_latency_ns, "tpot_latency"),
        ],
        _ => vec![latency],
    };
    let percent = percent(effective.target_latency_percentile);
    let over = judged.into_iter().filter(|(_, stats, limit_ns, _)| stats.target_ns > *limit_ns as i64);
    let over = over.map(|(what, stats, limit_ns, key)| {
        let is = match stats.measured_target_ns(summary.target_percentile) {
            Some(ns) => format!("is {:.1?}", Duration::from_nanos(ns as u64)),
            None => "falls on samples without an answer".to_owned(),
        };
        let limit = Duration::from_nanos(limit_ns);
        format!("the {percent}th percentile of {what} {is}, the limit is {limit:.1?} ({key})")
    });
    match over.collect::<Vec<_>>().join("; ") {
        // The estimate that early stopping judges lies above the percentile itself.
        none if none.is_empty() => {
            format!("the {percent}th percentile, estimated from so few queries, exceeds its limit")
        }
        over => over,
    }
}
