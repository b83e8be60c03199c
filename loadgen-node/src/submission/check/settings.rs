//! Checks the settings that a run asked for against those that the round prescribes. Rates are free, limits may be
//! lower and runs longer, everything else is as the round has it.

use loadgen::official;
use loadgen::settings::TestSettings;
use serde_json::Value;

use super::super::kind::Kind;
use super::place::Place;
use lon_run::audit::Detail;
use lon_run::division::fields;

/// Settings that a submitter chooses, and those that other rules are about.
const FREE: [&str; 14] = [
    "scenario",
    "mode",
    "qsl_rng_seed",
    "sample_index_rng_seed",
    "schedule_rng_seed",
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
/// Settings that an `audit.config` changes. The audit itself checks that it changed them.
const AUDITED: [&str; 6] = [
    "accuracy_log_rng_seed",
    "accuracy_log_probability",
    "accuracy_log_sampling_target",
    "performance_issue_unique",
    "performance_issue_same",
    "performance_issue_same_index",
];
/// Settings that an `audit.config` also changes where it says how long the run is.
const LENGTH: [&str; 3] = [DURATION, "min_query_count", "sample_concatenate_permutation"];
/// Settings of one's own, which no official text forbids. A run that a limit of these ended has an error in its log.
const OWN: [&str; 3] = ["max_duration_ms", "max_query_count", "server_coalesce_queries"];
/// Settings that may be larger than prescribed.
const AT_LEAST: [&str; 2] = [DURATION, QUERIES];
/// Settings that may be smaller than prescribed.
const AT_MOST: [&str; 3] = ["server_target_latency_ns", "server_ttft_latency", "server_tpot_latency"];
/// The setting that a rehearsal shortens.
const DURATION: &str = "min_duration_ms";
/// In Offline, whose one query has the samples of all, it is the number of samples.
const QUERIES: &str = "min_query_count";
const SAMPLES: &str = "effective_samples_per_query";

/// The settings that are not as the round has them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Unlike {
    pub(super) faults: Vec<String>,
    /// Those that no official text forbids.
    pub(super) advice: Vec<String>,
}

/// The settings that are not as the round has them; as an error, why that cannot be said.
pub(super) fn unlike(place: &Place, kind: Kind, detail: &Detail) -> Result<Unlike, String> {
    let (round, name) = (place.rules.round.name, place.benchmark.name);
    if !place.rules.knows(name) {
        return Err(format!("settings of {name}: round {round} has none of its own"));
    }
    // Another check reports faults of the log itself.
    let Some(settings) = requested(detail) else { return Ok(Unlike::default()) };
    let scenario = place.scenario_of(detail);
    let mut official = TestSettings { scenario, ..TestSettings::default() };
    place.rules.apply(name, scenario.name(), &mut official);
    let (settings, official) = (fields(&settings), fields(&official));
    let is_audited = |field: &str| {
        let Kind::Compliance(test) = kind else { return false };
        AUDITED.contains(&field) || (test.sets_length() && LENGTH.contains(&field))
    };
    let samples = detail.whole(SAMPLES);
    let has_samples = |prescribed: &Value| samples.is_some() && samples >= prescribed.as_u64();
    let is_one_query = scenario.is_one_query();
    // An accuracy run asks every sample once, however long that takes.
    let is_length = |field: &str| match kind {
        Kind::Accuracy => AT_LEAST.contains(&field),
        Kind::Performance | Kind::Compliance(_) => place.is_rehearsal && field == DURATION,
    };
    let is_free = |field: &str| FREE.contains(&field) || is_audited(field) || is_length(field);
    let fault = |(field, value): (&String, &Value)| {
        let prescribed = official.get(field)?;
        // Logs have the settings of their scenario alone. A line that was taken out changes those in force.
        detail.value(&format!("requested_{field}"))?;
        let bound = match field.as_str() {
            field if is_free(field) => return None,
            field if AT_LEAST.contains(&field) && value.as_f64()? >= prescribed.as_f64()? => return None,
            QUERIES if is_one_query && has_samples(prescribed) => return None,
            field if AT_MOST.contains(&field) && value.as_f64()? <= prescribed.as_f64()? => return None,
            field if AT_LEAST.contains(&field) => " at least",
            field if AT_MOST.contains(&field) => " at most",
            _ if is_equal(value, prescribed) => return None,
            _ => "",
        };
        Some(format!("{field} is {value}, {prescribed}{bound} in round {round}"))
    };
    // The checker's own number of samples may be lower than that of LoadGen's file of the round.
    let is_enough = samples.is_some() && place.official.offline_samples.is_some_and(|least| samples >= Some(least));
    let is_advice = |field: &str| OWN.contains(&field) || (field == QUERIES && is_one_query && is_enough);
    let mut unlike = Unlike::default();
    for entry in &settings {
        let list = if is_advice(entry.0) { &mut unlike.advice } else { &mut unlike.faults };
        list.extend(fault(entry));
    }
    Ok(unlike)
}

/// The settings that a log says were asked for.
pub(super) fn requested(detail: &Detail) -> Option<TestSettings> {
    Some(official::requested(detail.log().ok()?).ok()?.settings)
}

/// Returns true when both values are the same. Logs have six digits of a number.
pub(super) fn is_equal(one: &Value, other: &Value) -> bool {
    match (one.as_f64(), other.as_f64()) {
        (Some(one), Some(other)) => (one - other).abs() <= 1e-5 * one.abs().max(other.abs()),
        _ => one == other,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::place::{closed, logged};
    use super::*;
    use lon_run::audit::AuditTest;

    fn unlike_of(kind: Kind, changed: &[(&str, &str)]) -> Unlike {
        unlike_in("whisper", kind, changed)
    }

    fn unlike_in(benchmark: &str, kind: Kind, changed: &[(&str, &str)]) -> Unlike {
        let place = closed(Path::new("t"), "v6.0", benchmark, "Offline");
        let mut values = vec![
            ("requested_scenario", "\"Offline\""),
            ("requested_test_mode", "\"PerformanceOnly\""),
            ("requested_min_duration_ms", "600000"),
            ("requested_min_query_count", "1"),
            ("qsl_reported_total_count", "1633"),
            ("qsl_reported_performance_count", "1633"),
            (SAMPLES, "237600"),
        ];
        values.retain(|(key, _)| !changed.iter().any(|(other, _)| key == other));
        values.extend(changed);
        unlike(&place, kind, &Detail::read(&logged(&values)).unwrap()).unwrap()
    }

    /// Sources: `OFFLINE_MIN_SPQ_SINCE_V4` of the checker has 50, `mlperf.conf` 248; runs of v6.0 have 56 and 100.
    #[test]
    fn fewer_samples_than_the_file_has_and_as_many_as_the_checker_asks_for_are_advice() {
        let of = |samples| unlike_in("wan-2.2-t2v-a14b", Kind::Performance, &[(SAMPLES, samples)]);
        let less = "min_query_count is 1, 248 at least in round v6.0".to_owned();
        assert_eq!(of("50"), Unlike { faults: Vec::new(), advice: vec![less.clone()] });
        assert_eq!(of("49"), Unlike { faults: vec![less], advice: Vec::new() });
        assert_eq!(of("248"), Unlike::default());
    }

    /// Sources: the official checker, which asks for samples in Offline and for the length of measured runs alone;
    /// trees of v6.0 with limits of 660 s and of 990 queries.
    #[test]
    fn lengths_are_those_of_the_round_where_a_checker_asks_for_them() {
        let of = |kind, changed: &[(&str, &str)]| -> (Vec<String>, Vec<String>) {
            let Unlike { faults, advice } = unlike_of(kind, changed);
            (faults, advice)
        };
        let none = (Vec::new(), Vec::new());
        assert_eq!(of(Kind::Performance, &[]), none);
        let few = of(Kind::Performance, &[(SAMPLES, "1632")]);
        assert_eq!(few, (vec!["min_query_count is 1, 1633 at least in round v6.0".to_owned()], Vec::new()));
        let short = [("requested_min_duration_ms", "0"), (SAMPLES, "1")];
        assert_eq!(of(Kind::Accuracy, &short), none);
        assert_eq!(of(Kind::Compliance(AuditTest::Test07), &short), none);
        assert_eq!(of(Kind::Performance, &short).0.len(), 2);
        let ends = of(Kind::Performance, &[("requested_max_duration_ms", "660000")]);
        assert_eq!(ends, (Vec::new(), vec!["max_duration_ms is 660000, 0 in round v6.0".to_owned()]));
    }
}
