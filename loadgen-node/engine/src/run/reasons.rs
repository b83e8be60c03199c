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
        let minimum = Duration::from_millis(effective.settings.min_duration_ms);
        verdict.add_rule("min_duration", format!("the run was shorter than min_duration ({minimum:?})"));
    }
    if !checks.min_queries {
        let Effective { min_query_count, min_sample_count, .. } = *effective;
        let answered = summary.latency.count.saturating_sub(summary.latency.unanswered);
        let one_query = match effective.shape.is_pulled() {
            true => format!("{} sends one query; its least samples are ", effective.scenario.name()),
            false => String::new(),
        };
        let text = match summary.queries >= min_query_count {
            true => {
                format!("too few samples: {answered} of {min_sample_count} were answered ({one_query}min_query_count)")
            }
            false => format!(
                "too few queries: {} were issued and {answered} samples answered, {min_query_count} queries and \
                 {min_sample_count} samples are required (min_query_count)",
                summary.queries
            ),
        };
        verdict.add_rule("min_queries", text);
    }
    if !checks.early_stopping {
        let fraction = effective.target_latency_percentile;
        let (percent, least) = (percent(fraction), effective.scenario.judge().early_stopping().least_queries(fraction));
        let too_few = |what_to_do: String| {
            let queries = summary.queries;
            format!("{queries} queries are too few to judge the {percent}th percentile (early stopping): {what_to_do}")
        };
        // More of them, where some are over the limit: the advice beside the verdict says how many.
        let reason = match summary.queries < least {
            true => too_few(format!("it takes {least} at least")),
            false if checks.performance_constraints == Some(false) => {
                "early stopping: too many queries were over the limit; a longer run does not help".to_owned()
            }
            false => {
                let judgement = summary.early_stopping.furthest();
                let (late, missing) = (judgement.late, judgement.missing);
                too_few(format!("with {late} of them over the limit it takes at least {missing} more that are not"))
            }
        };
        verdict.add_rule("early_stopping", reason);
    }
}

/// Says which of the judged values are over their limits, and by how much.
fn over_limit(effective: &Effective, summary: &Summary) -> String {
    let latency = ("the latency", summary.judged_latency(), effective.target_latency_ns, "target_latency");
    let judged = match &summary.tokens {
        Some(TokenSummary { first_token, per_token, .. }) if effective.settings.use_token_latencies => vec![
            ("TTFT", first_token, effective.settings.server_ttft_latency, "ttft_latency"),
            ("TPOT", per_token, effective.settings.server_tpot_latency, "tpot_latency"),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::Measured;
    use crate::plan::Plan;
    use crate::settings::{Qsl, Scenario, TestSettings};

    /// The reasons against a run of so many queries with answers of these latencies.
    fn reasons_against(settings: TestSettings, queries: u64, latencies_ns: Vec<i64>) -> Vec<String> {
        let settings = TestSettings { min_duration_ms: 0, server_target_latency_ns: 100_000_000, ..settings };
        let plan = Plan::new(settings, Qsl { total: 8, performance: 8 }).unwrap();
        let counts = Counts::all_answered(latencies_ns.len() as u64);
        let measured = Measured {
            sample_latencies_ns: latencies_ns.into(),
            queries_issued: queries,
            max_latency_s: 1.0,
            final_query_scheduled_s: 9.0,
            final_query_issued_s: 9.0,
            final_query_done_s: 9.0,
            ..Measured::default()
        };
        let summary = plan.effective().judge(measured);
        let verdict = verdict_of(plan.effective(), Some(&summary), &counts);
        verdict.reasons().iter().map(|reason| reason.text.clone()).collect()
    }

    /// The reasons against a Server run of 1 ms answers, of which some took 1 s.
    fn reasons(queries: u64, slow: usize) -> Vec<String> {
        let settings = TestSettings { scenario: Scenario::SERVER, min_query_count: 600, ..TestSettings::default() };
        let mut latencies_ns = vec![1_000_000; queries as usize];
        latencies_ns[..slow].fill(1_000_000_000);
        reasons_against(settings, queries, latencies_ns)
    }

    #[test]
    fn one_query_of_offline_with_too_few_answers_has_too_few_samples() {
        let settings = TestSettings { scenario: Scenario::OFFLINE, min_query_count: 24_576, ..TestSettings::default() };
        let reason = "too few samples: 14829 of 24576 were answered (Offline sends one query; its least samples are \
                      min_query_count)";
        assert_eq!(reasons_against(settings, 1, vec![1_000_000; 14_829]), [reason]);
    }

    #[test]
    fn what_is_too_few_is_said_with_numbers() {
        let few = reasons(500, 0);
        let reason = "too few queries: 500 were issued and 500 samples answered, 600 queries and 600 samples are \
                    required (min_query_count)";
        assert_eq!(few, [reason], "459 are enough for early stopping");
        // One late query takes 662, two take 838 (the official table of the rules' appendix on early stopping).
        let late = reasons(700, 2);
        assert_eq!(late.len(), 1, "{late:?}");
        let reason = "700 queries are too few to judge the 99th percentile (early stopping): with 2 of them \
                    over the limit it takes at least 138 more that are not";
        assert_eq!(late, [reason]);
        let least = reasons(400, 0);
        assert!(least[1].ends_with("(early stopping): it takes 459 at least"), "{least:?}");
        assert_eq!(reasons(662, 1), [""; 0]);
    }
}
