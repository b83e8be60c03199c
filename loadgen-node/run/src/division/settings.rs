//! Settings that a round prescribes: what a submitter may change is the rate, a lower latency limit and a longer run.

use serde_json::Value;

use super::facts::{ARRIVALS, Facts};
use super::rule::Verdict;

/// The way in which a setting may differ from the round's.
#[derive(Clone, Copy)]
enum May {
    /// Not at all.
    Equal,
    /// It may be larger.
    Grow,
    /// It may be smaller.
    Shrink,
}

/// An accuracy run sends each sample once, and LoadGen holds it to no length.
const NO_LENGTH: Verdict = Verdict::KeptBecause("an accuracy run has no least length");

/// Section 3: at least ten minutes. Rounds have one least duration for all benchmarks, also for those of our own.
pub(super) fn duration(facts: &Facts<'_>) -> Verdict {
    let planned = facts.planned;
    if !planned.mode.has_performance() {
        return NO_LENGTH;
    }
    let ms = planned.settings.official.get("min_duration_ms").map(ToString::to_string).unwrap_or_default();
    let remedy = |fault| format!("{fault}, for every benchmark; --set min_duration={ms} keeps the rule");
    Verdict::of(changed(facts, &["min_duration_ms"], May::Grow).into_iter().map(remedy))
}

/// Section 3: at least the round's number of queries, and in Offline its number of samples.
pub(super) fn queries(facts: &Facts<'_>) -> Verdict {
    let planned = facts.planned;
    if !planned.mode.has_performance() {
        return NO_LENGTH;
    }
    let mut faults = changed(facts, &["min_query_count"], May::Grow);
    let least = planned.benchmark.official(planned.round).iter().filter_map(|official| official.offline_samples).max();
    if planned.scenario.is_one_query()
        && let (Some(least), Some(samples)) = (least, planned.samples_per_query)
        && samples < least
    {
        faults.push(format!("the query has {samples} samples, {least} at least in round {}", planned.round));
    }
    verdict_of(facts, faults)
}

/// Section 3: nothing ends the run early.
pub(super) fn early_end(facts: &Facts<'_>) -> Verdict {
    verdict_of(facts, changed(facts, &["max_duration_ms", "max_query_count", "server_max_async_queries"], May::Equal))
}

/// Section 3: the percentile that is judged.
pub(super) fn percentile(facts: &Facts<'_>) -> Verdict {
    verdict_of(facts, changed(facts, &["server_target_latency_percentile"], May::Equal))
}

/// Section 3: how many samples a query has.
pub(super) fn query_size(facts: &Facts<'_>) -> Verdict {
    verdict_of(facts, changed(facts, &["multi_stream_samples_per_query", "server_coalesce_queries"], May::Equal))
}

/// Section 4.1: the latency limits.
pub(super) fn latency(facts: &Facts<'_>) -> Verdict {
    let mut faults = changed(facts, &["server_target_latency_ns"], May::Shrink);
    faults.extend(changed(facts, &["server_ttft_latency", "server_tpot_latency"], May::Shrink));
    let tokens = ["use_token_latencies", "infer_token_latencies", "token_latency_scaling_factor"];
    faults.extend(changed(facts, &tokens, May::Equal));
    verdict_of(facts, faults)
}

/// Section 5.1: the seeds of the round.
pub(super) fn seeds(facts: &Facts<'_>) -> Verdict {
    // Every round has seeds for all benchmarks, for those of our own, too.
    Verdict::of(changed(facts, &SEEDS, May::Equal))
}

/// Section 3: what no other rule is about, and is no submitter's to choose, is as the round has it.
pub(super) fn others(facts: &Facts<'_>) -> Verdict {
    let fields = facts.planned.settings.origins.keys().map(String::as_str);
    let fields: Vec<&str> = fields.filter(|field| !ELSEWHERE.contains(field) && !SEEDS.contains(field)).collect();
    let faults = changed(facts, &fields, May::Equal);
    // Every round has one arrival process, for benchmarks of our own, too.
    if changed(facts, &[ARRIVALS], May::Equal).is_empty() { verdict_of(facts, faults) } else { Verdict::of(faults) }
}

/// The seeds, those of test 05 included, and whether that test takes them.
pub(super) const SEEDS: [&str; 7] = [
    "qsl_rng_seed",
    "sample_index_rng_seed",
    "schedule_rng_seed",
    "test05",
    "test05_qsl_rng_seed",
    "test05_sample_index_rng_seed",
    "test05_schedule_rng_seed",
];

/// Settings that another rule is about, and at the end those that a submitter chooses.
pub(super) const ELSEWHERE: [&str; 31] = [
    "min_duration_ms",
    "min_query_count",
    "max_duration_ms",
    "max_query_count",
    "server_max_async_queries",
    "server_target_latency_percentile",
    "multi_stream_samples_per_query",
    "server_coalesce_queries",
    "server_target_latency_ns",
    "server_ttft_latency",
    "server_tpot_latency",
    "use_token_latencies",
    "infer_token_latencies",
    "token_latency_scaling_factor",
    "sample_concatenate_permutation",
    "performance_issue_unique",
    "performance_issue_same",
    "performance_issue_same_index",
    "performance_sample_count_override",
    "accuracy_sample_count_override",
    "scenario",
    "mode",
    "server_target_qps",
    "offline_expected_qps",
    "single_stream_expected_latency_ns",
    "single_stream_target_latency_percentile",
    "multi_stream_expected_latency_ns",
    "multi_stream_target_latency_percentile",
    "server_num_issue_query_threads",
    "server_find_peak_qps_decimals_of_precision",
    "server_find_peak_qps_boundary_step_size",
];

/// Section 5.1: samples are drawn at random from the loaded set.
pub(super) fn drawing(facts: &Facts<'_>) -> Verdict {
    let fields = [
        "sample_concatenate_permutation",
        "performance_issue_unique",
        "performance_issue_same",
        "performance_issue_same_index",
    ];
    verdict_of(facts, changed(facts, &fields, May::Equal))
}

/// Section 5.1: an accuracy run asks for each sample once.
pub(super) fn accuracy_set(facts: &Facts<'_>) -> Verdict {
    verdict_of(facts, changed(facts, &["accuracy_sample_count_override"], May::Equal))
}

/// Returns the verdict that follows from the faults. The settings that a round has for all benchmarks are not meant for
/// those of our own.
fn verdict_of(facts: &Facts<'_>, faults: Vec<String>) -> Verdict {
    let planned = facts.planned;
    match planned.settings.are_known {
        true => Verdict::of(faults),
        false => Verdict::unchecked(format!(
            "round {} has no settings for {} to compare",
            planned.round, planned.benchmark.name
        )),
    }
}

/// The settings that are not as the round has them, each with what it is, where that is from, and the round's value.
fn changed(facts: &Facts<'_>, fields: &[&str], may: May) -> Vec<String> {
    let (settings, round) = (&facts.planned.settings, facts.planned.round);
    let fault = |field: &&str| {
        let (value, official) = (settings.values.get(*field)?, settings.official.get(*field)?);
        let origin = settings.origins.get(*field)?;
        let (allowed, bound) = match may {
            May::Equal => (value == official, ""),
            May::Grow => (number(value)? >= number(official)?, " at least"),
            May::Shrink => (number(value)? <= number(official)?, " at most"),
        };
        (!allowed).then(|| format!("{field} is {value} ({origin}), {official}{bound} in round {round}"))
    };
    fields.iter().filter_map(fault).collect()
}

fn number(value: &Value) -> Option<f64> {
    value.as_f64()
}
