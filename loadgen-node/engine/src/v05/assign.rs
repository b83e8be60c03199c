//! `[SCENARIO.]KEY=VALUE` typed by a person -> settings of the round.
//!
//! Keys are those of the round's config files. Values are read as in later rounds, strictly and with their units: a key
//! has the unit of the key of that name today.

use serde_json::{Map, Value};

use super::conf;
use super::scenario::LatencyRule;
use super::settings::Settings;
use crate::scenarios::{Scenario, TestSettings};
use crate::settings::keys::closest;
use crate::settings::{Assigned, Assignment, AssignmentError};

/// Fields without a key, which are assigned by their names.
const WITHOUT_KEYS: [&str; 2] =
    ["server_find_peak_qps_decimals_of_precision", "server_find_peak_qps_boundary_step_size"];

/// Carries out an assignment; returns the field that it set. `None`: it is for another scenario.
///
/// # Errors
/// The scenario has no such key in this round, or the value does not fit it.
pub(super) fn assign(
    settings: &mut Settings,
    assignment: &Assignment,
) -> Result<Option<&'static str>, AssignmentError> {
    let scenario = settings.scenario;
    if assignment.scenario.is_some_and(|only| only.name() != scenario.shape().name) {
        return Ok(None);
    }
    let by_field = || WITHOUT_KEYS.into_iter().find(|field| *field == assignment.key);
    let field =
        conf::field(&assignment.key, scenario).or_else(by_field).ok_or_else(|| unknown(settings, assignment))?;
    let refused = |requirement: &str| AssignmentError::Value {
        key: assignment.key.clone(),
        value: assignment.value.clone(),
        requirement: requirement.to_owned(),
    };
    if assignment.is_auto() {
        return Err(refused("a number: runs of round v0.5 find none by a look at the nodes"));
    }
    let mut record = fields(settings);
    let value = typed(settings, assignment)?;
    let is_whole = record.get(field).is_some_and(Value::is_u64);
    let value = match value.as_f64().filter(|number| is_whole && !value.is_u64() && *number >= 0.0) {
        Some(number) => Value::from(number.round() as u64),
        None => value,
    };
    record.insert(field.to_owned(), value);
    *settings = serde_json::from_value(Value::Object(record)).map_err(|_| refused("a value of this setting"))?;
    Ok(Some(field))
}

/// The value of the field, as the key of this name has it in later rounds. MultiStream has two keys that are those of
/// Server today.
fn typed(settings: &Settings, assignment: &Assignment) -> Result<Value, AssignmentError> {
    let own = Scenario::from_name(settings.scenario.shape().section);
    let mut first = None;
    for scenario in own.into_iter().chain(Scenario::OFFICIAL) {
        let mut scratch = TestSettings { scenario, ..TestSettings::default() };
        let assignment = Assignment { scenario: None, ..assignment.clone() };
        match scratch.assign(&assignment) {
            Ok(Assigned::Here(field) | Assigned::Elsewhere(field)) => {
                return Ok(serde_json::to_value(scratch)
                    .ok()
                    .and_then(|all| all.get(field).cloned())
                    .unwrap_or_default());
            }
            Ok(Assigned::Nothing) => {}
            Err(error @ AssignmentError::Value { .. }) => return Err(error),
            Err(error) => first = first.or(Some(error)),
        }
    }
    Err(first.unwrap_or_else(|| unknown(settings, assignment)))
}

fn unknown(settings: &Settings, assignment: &Assignment) -> AssignmentError {
    let valid = conf::keys(settings.scenario);
    let hint = match settings.scenario.shape().latency_rule {
        LatencyRule::Intervals if assignment.key == "target_latency" => {
            Some(" (the limit is one interval, 1 / target_qps)".to_owned())
        }
        _ => closest(&assignment.key, valid.iter().copied()).map(|name| format!(" (did you mean '{name}'?)")),
    };
    let place = PLACES.iter().find(|(name, _)| *name == settings.scenario.shape().name).map_or("", |(_, place)| place);
    AssignmentError::Key { key: assignment.key.clone(), place, hint: hint.unwrap_or_default(), valid }
}

/// The scenarios of the round in words.
const PLACES: [(&str, &str); 5] = [
    ("SingleStream", "SingleStream of round v0.5"),
    ("MultiStream", "MultiStream of round v0.5"),
    ("MultiStreamFree", "MultiStreamFree of round v0.5"),
    ("Server", "Server of round v0.5"),
    ("Offline", "Offline of round v0.5"),
];

/// The settings, field by field.
pub(crate) fn fields(settings: &Settings) -> Map<String, Value> {
    match serde_json::to_value(settings) {
        Ok(Value::Object(fields)) => fields,
        // A record of numbers and words is always an object.
        _ => Map::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::scenario;
    use super::*;

    fn assigned(name: &str, text: &str) -> Result<Settings, String> {
        let scenario = scenario::Scenario::from_name(name).unwrap();
        let mut settings = Settings { scenario, ..Settings::default() };
        let (key, value) = text.split_once('=').unwrap();
        let assignment = Assignment { scenario: None, key: key.to_owned(), value: value.to_owned() };
        assign(&mut settings, &assignment).map_err(|error| error.to_string())?;
        Ok(settings)
    }

    #[test]
    fn values_have_units_as_in_later_rounds() {
        let set = |name, text| assigned(name, text).unwrap();
        assert_eq!(set("SingleStream", "target_latency=1.5ms").single_stream_expected_latency_ns, 1_500_000);
        assert_eq!(set("SingleStream", "min_duration=60s").min_duration_ms, 60_000);
        assert_eq!(set("MultiStream", "target_qps=20").multi_stream_target_qps, 20.0);
        assert_eq!(set("MultiStream", "max_async_queries=2").multi_stream_max_async_queries, 2);
        assert_eq!(set("MultiStream", "target_latency_percentile=97").multi_stream_target_latency_percentile, 0.97);
        assert_eq!(set("Server", "target_latency=15").server_target_latency_ns, 15_000_000);
        assert_eq!(set("Server", "mode=AccuracyOnly").mode, crate::settings::Mode::AccuracyOnly);
        assert_eq!(set("Offline", "target_qps=7.5").offline_expected_qps, 7.5);
        let decimals = "server_find_peak_qps_decimals_of_precision";
        assert_eq!(set("Server", &format!("{decimals}=3")).server_find_peak_qps_decimals_of_precision, 3);
    }

    #[test]
    fn keys_that_the_round_has_not_are_named_with_those_that_it_has() {
        for (name, text, part) in [
            ("MultiStream", "target_latency=50", "no setting 'target_latency' in MultiStream of round v0.5"),
            ("Server", "ttft_latency=50", "no setting 'ttft_latency' in Server of round v0.5"),
            ("Offline", "max_async_queries=5", "in Offline of round v0.5"),
            ("Server", "target_qps=auto", "find none by a look at the nodes"),
            ("Server", "target_qps=-5", "target_qps: '-5' is not a rate above 0"),
        ] {
            let error = assigned(name, text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
        let other =
            Assignment { scenario: Some(Scenario::OFFLINE), key: "target_qps".to_owned(), value: "5".to_owned() };
        assert_eq!(assign(&mut Settings::default(), &other), Ok(None), "for another scenario");
    }
}
