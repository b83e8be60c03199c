//! The result keys of the detail log, in official order.

use crate::judge::{EarlyStopping, LatencyStats, PERCENTILES, Summary, TokenSummary, Verdict};
use crate::scenarios::Scenario;
use crate::value::{Entry, Value};

/// All official result keys of a judged phase, from `result_validity` to `num_errors`.
pub fn result_keys(scenario: Scenario, summary: &Summary, verdict: &Verdict, errors: u64) -> Vec<Entry> {
    let mut entries = Vec::with_capacity(64);
    validity(summary, verdict, &mut entries);
    entries.push(("result_query_count".into(), summary.queries.into()));
    if summary.checks.performance_constraints.is_some() {
        entries.push(("result_overlatency_query_count".into(), summary.overlatency_count.into()));
    }
    let (headlines, has_token_latencies) = (scenario.headlines(), scenario.judge().has_token_latencies());
    entries.extend(headlines.results(summary));
    latency("result_", "_latency_ns", &summary.latency, &mut entries);
    if let Some(tokens) = &summary.tokens {
        if has_token_latencies {
            token_latencies(tokens, &mut entries);
        } else {
            entries.push(("result_tokens_per_second".into(), tokens.tokens_per_s.into()));
        }
    }
    if let Some(inferred) = headlines.inferred_headline(summary).and(summary.inferred.as_ref()) {
        entries.push(if has_token_latencies {
            ("result_inferred_completed_tokens_per_second".into(), inferred.completed_tokens_per_s.into())
        } else {
            ("result_inferred_tokens_per_second".into(), inferred.tokens_per_s.into())
        });
    }
    entries.push(("num_errors".into(), errors.into()));
    entries
}

/// Keys of our own: the same numbers where six digits, or an odd unit, lose something.
pub fn extra_keys(summary: &Summary) -> Vec<Entry> {
    let metric = summary.metric;
    let mut entries: Vec<Entry> =
        vec![("lon_metric_name".into(), metric.name.into()), ("lon_metric_unit".into(), metric.unit.into())];
    entries.extend(metric.value.map(|value| ("lon_metric_value".into(), Value::Full(value))));
    if let Some(tokens) = &summary.tokens {
        entries.push(("lon_completed_tokens_per_second".into(), Value::Full(tokens.completed_tokens_per_s)));
        entries.push(("lon_token_throughput_per_second".into(), Value::Full(tokens.tps_without_overhead)));
    }
    entries
}

fn validity(summary: &Summary, verdict: &Verdict, entries: &mut Vec<Entry>) {
    let (checks, valid) = (summary.checks, verdict.official() == Some(true));
    entries.push(("result_validity".into(), if valid { "VALID" } else { "INVALID" }.into()));
    if let Some(met) = checks.performance_constraints {
        entries.push(("result_perf_constraints_met".into(), met.into()));
    }
    entries.push(("result_min_duration_met".into(), checks.min_duration.into()));
    entries.push(("result_min_queries_met".into(), checks.min_queries.into()));
    entries.push(("early_stopping_met".into(), checks.early_stopping.into()));
    if !valid {
        let faults = verdict.faults().map(|fault| format!("{}. ", fault.text));
        let reason: String = faults.chain(summary.advice.iter().map(|advice| advice.detail.clone())).collect();
        entries.push(("result_invalid_reason".into(), Value::Text(reason)));
    }
    let one_line = |text: &str| Value::Text(text.replace('\n', " "));
    match &summary.early_stopping {
        EarlyStopping::Latency(judgement) => {
            entries.push(("early_stopping_result".into(), one_line(&judgement.text)));
        }
        EarlyStopping::Tokens { first_token, per_token } => {
            entries.push(("early_stopping_ttft_result".into(), one_line(&first_token.text)));
            entries.push(("early_stopping_tpot_result".into(), one_line(&per_token.text)));
        }
    }
}

/// Adds least, largest, mean and percentiles of a latency: `PREFIXminSUFFIX` and so on.
fn latency(prefix: &str, suffix: &str, stats: &LatencyStats, entries: &mut Vec<Entry>) {
    for (name, ns) in [("min", stats.min_ns), ("max", stats.max_ns), ("mean", stats.mean_ns)] {
        entries.push((format!("{prefix}{name}{suffix}"), ns.into()));
    }
    percentiles(prefix, &format!("_percentile{suffix}"), stats, entries);
}

fn percentiles(prefix: &str, suffix: &str, stats: &LatencyStats, entries: &mut Vec<Entry>) {
    for (fraction, ns) in PERCENTILES.iter().zip(stats.percentiles_ns) {
        entries.push((format!("{prefix}{:.2}{suffix}", fraction * 100.0), ns.into()));
    }
}

fn token_latencies(tokens: &TokenSummary, entries: &mut Vec<Entry>) {
    latency("result_first_token_", "_latency_ns", &tokens.first_token, entries);
    entries.push(("result_token_throughput_with_loadgen_overhead".into(), tokens.tps_with_overhead.into()));
    // Per nanosecond, as the official log has it.
    entries.push(("result_token_throughput".into(), (tokens.tps_without_overhead / 1e9).into()));
    let per_token = &tokens.per_token;
    percentiles("result_time_per_output_token_", "_percentile_ns", per_token, entries);
    for (name, ns) in [("min", per_token.min_ns), ("max", per_token.max_ns), ("mean", per_token.mean_ns)] {
        entries.push((format!("result_time_to_output_token_{name}"), ns.into()));
    }
    entries.push(("result_completed_tokens_per_second".into(), tokens.completed_tokens_per_s.into()));
}
