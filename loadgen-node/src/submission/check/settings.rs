//! What a run asked for, against what the round prescribes: rates are free, limits may be lower and runs longer,
//! everything else is as the round has it.

use loadgen::official;
use loadgen::settings::TestSettings;
use serde_json::Value;

use super::super::kind::Kind;
use super::place::Place;
use crate::audit::Detail;
use crate::division::fields;

/// Settings that a submitter chooses, and those that other rules are about.
const FREE: [&str; 11] = [
    "scenario",
    "mode",
    "server_target_qps",
    "offline_expected_qps",
    "single_stream_expected_latency_ns",
    "multi_stream_expected_latency_ns",
    "server_num_issue_query_threads",
    "server_find_peak_qps_decimals_of_precision",
    "server_find_peak_qps_boundary_step_size",
    "performance_sample_count_override",
    "print_timestamps",
];
/// What an `audit.config` changes. That it did is seen by the audit itself.
const AUDITED: [&str; 6] = [
    "accuracy_log_rng_seed",
    "accuracy_log_probability",
    "accuracy_log_sampling_target",
    "performance_issue_unique",
    "performance_issue_same",
    "performance_issue_same_index",
];
/// What it changes, too, where it says how long the run is.
const LENGTH: [&str; 3] = [DURATION, "min_query_count", "sample_concatenate_permutation"];
/// What may be larger than prescribed.
const AT_LEAST: [&str; 2] = [DURATION, "min_query_count"];
/// What may be smaller than prescribed.
const AT_MOST: [&str; 3] = ["server_target_latency_ns", "server_ttft_latency", "server_tpot_latency"];
/// What a rehearsal shortens.
const DURATION: &str = "min_duration_ms";

/// The settings that are not as the round has them; as an error, why that cannot be said.
pub(super) fn faults(place: &Place, kind: Kind, detail: &Detail) -> Result<Vec<String>, String> {
    let (round, name) = (place.rules.round.name, place.benchmark.name);
    if !place.rules.knows(name) {
        return Err(format!("settings of {name}: round {round} has none of its own"));
    }
    // What is wrong with the log itself is said elsewhere.
    let Some(wanted) = requested(detail) else { return Ok(Vec::new()) };
    let scenario = place.scenario_of(detail);
    let mut official = TestSettings { scenario, ..TestSettings::default() };
    place.rules.apply(name, scenario.name(), &mut official);
    let (wanted, official) = (fields(&wanted), fields(&official));
    let is_audited = |field: &str| {
        let Kind::Compliance(test) = kind else { return false };
        AUDITED.contains(&field) || (test.sets_length() && LENGTH.contains(&field))
    };
    let is_free = |field: &str| FREE.contains(&field) || is_audited(field) || (place.is_rehearsal && field == DURATION);
    let fault = |(field, value): (&String, &Value)| {
        let prescribed = official.get(field)?;
        // Logs have the settings of their scenario alone. A line that was taken out changes those in force.
        detail.value(&format!("requested_{field}"))?;
        let words = match field.as_str() {
            field if is_free(field) => return None,
            field if AT_LEAST.contains(&field) && value.as_f64()? >= prescribed.as_f64()? => return None,
            field if AT_MOST.contains(&field) && value.as_f64()? <= prescribed.as_f64()? => return None,
            field if AT_LEAST.contains(&field) => " at least",
            field if AT_MOST.contains(&field) => " at most",
            _ if is_equal(value, prescribed) => return None,
            _ => "",
        };
        Some(format!("{field} is {value}, {prescribed}{words} in round {round}"))
    };
    Ok(wanted.iter().filter_map(fault).collect())
}

/// The settings that a log says were asked for.
pub(super) fn requested(detail: &Detail) -> Option<TestSettings> {
    Some(official::requested(detail.log().ok()?).ok()?.settings)
}

/// Whether both values are the same. Logs have six digits of a number.
pub(super) fn is_equal(one: &Value, other: &Value) -> bool {
    match (one.as_f64(), other.as_f64()) {
        (Some(one), Some(other)) => (one - other).abs() <= 1e-5 * one.abs().max(other.abs()),
        _ => one == other,
    }
}
