//! `[SCENARIO.]KEY=VALUE`: assigning a setting by its LoadGen config key, in the units of the config files.
//!
//! For one assignment typed by a person, so it is strict: whole numbers where whole numbers are meant, known keys only.
//! The lenient rules of official config files are in `crate::conf`; the keys of both in `keys`.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use super::keys::{self, Key, Slot, Unit};
use super::names::{UnknownName, named};
use super::typed::Typed;
use crate::further_settings::{FurtherKey, FurtherValue, Quantity};
use crate::mode::Mode;
use crate::scenarios::{Scenario, TestSettings};

/// The value that stands for one which a look at the SUT finds.
const AUTO: &str = "auto";

/// A latency above an hour is a number of another unit.
const LONGEST_MS: u64 = 3_600_000;

/// The field that is no setting: every test is of one scenario from the start.
const SCENARIO: &str = "scenario";

/// Effect of an assignment on the settings of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Assigned {
    /// The field of this name has the value.
    Here(&'static str),
    /// The same, but it is a field of another scenario, which changes nothing in this one.
    Elsewhere(&'static str),
    /// The assignment is for another scenario, or says what is so already: nothing changed.
    Nothing,
}

/// A checked assignment: the key exists for the scenario it names, if it names one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// Only for this scenario; `None` = whichever is run.
    pub scenario: Option<Scenario>,
    /// The config key, for example `target_qps`.
    pub key: String,
    /// The value, as typed.
    pub value: String,
}

/// Why an assignment was refused.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum AssignmentError {
    /// The text has no `=`.
    #[error("'{text}' is not [SCENARIO.]KEY=VALUE")]
    Form {
        /// Text that the user typed.
        text: String,
    },
    /// The part before the dot is not a scenario.
    #[error("{0}")]
    Scenario(UnknownName),
    /// No such key, at least not in this scenario.
    #[error("no setting '{key}' in {place}{hint}{}", listed(hint, valid))]
    Key {
        /// Key that the user typed.
        key: String,
        /// Where it was looked for.
        place: &'static str,
        /// A suggestion, or nothing.
        hint: String,
        /// Keys that are accepted.
        valid: Vec<&'static str>,
    },
    /// The value does not fit the key.
    #[error("{key}: '{value}' is not {requirement}")]
    Value {
        /// The key that the value is for.
        key: String,
        /// Value that the user typed.
        value: String,
        /// Description of the values that are accepted.
        requirement: String,
    },
}

impl FromStr for Assignment {
    type Err = AssignmentError;

    fn from_str(text: &str) -> Result<Self, AssignmentError> {
        let assignment = Self::split(text)?;
        assignment.check()?;
        Ok(assignment)
    }
}

impl Assignment {
    /// The parts of `[SCENARIO.]KEY=VALUE`, not checked yet.
    fn split(text: &str) -> Result<Self, AssignmentError> {
        let form = || AssignmentError::Form { text: text.to_owned() };
        let (name, value) = text.split_once('=').ok_or_else(form)?;
        let (scenario, key) = match name.trim().split_once('.') {
            Some((scenario, key)) => (Some(parse_scenario(scenario)?), key.trim()),
            None => (None, name.trim()),
        };
        if key.is_empty() {
            return Err(form());
        }
        Ok(Self { scenario, key: key.to_owned(), value: value.trim().to_owned() })
    }
}

impl fmt::Display for Assignment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(scenario) = self.scenario {
            write!(f, "{}.", scenario.name())?;
        }
        write!(f, "{}={}", self.key, self.value)
    }
}

impl Assignment {
    /// An assignment in every scenario that is not checked yet.
    pub fn of(key: &str, value: String) -> Assignment {
        Assignment { scenario: None, key: key.to_owned(), value }
    }

    /// The value is to be found by a look at the SUT. Only rates and expected latencies can be.
    pub fn is_auto(&self) -> bool {
        self.value.eq_ignore_ascii_case(AUTO)
    }

    /// Returns a warning on a time without a unit that nobody means: its unit is ms, and logs have ns.
    pub(crate) fn doubt(&self, scenario: Scenario) -> Option<String> {
        let (key, is_field) = keys::find_typed(&self.key, scenario)?;
        let ms: u64 = self.value.parse().ok().filter(|_| key.unit == Unit::Ms && !is_field)?;
        let (name, seconds) = (key.name, ms / 1_000);
        (ms > LONGEST_MS).then(|| format!("{name} is in ms: {ms} are {seconds} s; write a unit, such as {name}=100ms"))
    }

    /// Tries it on default settings, in every scenario it may apply to.
    fn check(&self) -> Result<(), AssignmentError> {
        if self.key == SCENARIO {
            return parse_scenario(&self.value).map(|_| ());
        }
        let scenarios: Vec<Scenario> =
            Scenario::ALL.into_iter().filter(|s| self.scenario.is_none_or(|only| only == *s)).collect();
        match scenarios.iter().find(|s| keys::find_typed(&self.key, **s).is_some()) {
            Some(scenario) => {
                let mut scratch = TestSettings { scenario: *scenario, ..TestSettings::default() };
                scratch.assign(self).map(|_| ())
            }
            None => Err(unknown_key(&self.key, &scenarios)),
        }
    }

    fn refused(&self, requirement: String) -> AssignmentError {
        AssignmentError::Value { key: self.key.clone(), value: self.value.clone(), requirement }
    }
}

impl TestSettings {
    /// Carries out an assignment. Results have the fields of all scenarios: those of others are taken, too.
    ///
    /// # Errors
    /// The key does not exist in this scenario, or the value does not fit it.
    pub fn assign(&mut self, assignment: &Assignment) -> Result<Assigned, AssignmentError> {
        if assignment.scenario.is_some_and(|only| only != self.scenario) {
            return Ok(Assigned::Nothing);
        }
        if assignment.key == SCENARIO {
            let is_this = parse_scenario(&assignment.value)? == self.scenario;
            let requirement = || format!("{}, which --scenario has chosen", self.scenario.name());
            return if is_this { Ok(Assigned::Nothing) } else { Err(assignment.refused(requirement())) };
        }
        if let Some((key, is_field)) = keys::find_typed(&assignment.key, self.scenario) {
            store(&key, Typed::new(&key, is_field), self, assignment)?;
            return Ok(Assigned::Here(key.field));
        }
        // A look at the SUT finds values for the scenario that is run only.
        let can_be_elsewhere = assignment.scenario.is_none() && !assignment.is_auto();
        let elsewhere = keys::find_elsewhere(&assignment.key, self.scenario).filter(|_| can_be_elsewhere);
        let key = elsewhere.ok_or_else(|| unknown_key(&assignment.key, &[self.scenario]))?;
        store(&key, Typed::new(&key, true), self, assignment)?;
        Ok(Assigned::Elsewhere(key.field))
    }

    /// Parses and carries out `[SCENARIO.]KEY=VALUE`.
    ///
    /// # Errors
    /// The text has another form, the key does not exist in this scenario, or the value does not fit it.
    pub fn set(&mut self, text: &str) -> Result<Assigned, AssignmentError> {
        self.assign(&Assignment::split(text)?)
    }
}

/// Stores a typed value strictly.
fn store(key: &Key, typed: Typed, settings: &mut TestSettings, assignment: &Assignment) -> Result<(), AssignmentError> {
    let text = assignment.value.as_str();
    let refuse = |requirement: String| assignment.refused(requirement);
    match key.slot {
        Slot::Mode => settings.mode = parse_mode(text).map_err(|error| refuse(format!("a mode: {error}")))?,
        Slot::Flag(field, _) => {
            *field(settings) = match text {
                "1" | "true" => true,
                "0" | "false" => false,
                _ => return Err(refuse("a switch: 0, 1, true or false".to_owned())),
            }
        }
        // The field keeps its value until a look at the SUT has found one.
        Slot::Real(..) if assignment.is_auto() && matches!(key.unit, Unit::PerSecond | Unit::Ms) => {}
        Slot::Whole(field, _) | Slot::Narrow(field) => *field(settings) = typed.whole(text).map_err(refuse)?,
        Slot::Signed(field) => *field(settings) = typed.signed(text).map_err(refuse)?,
        Slot::Real(field, _) => *field(settings) = typed.real(text).map_err(refuse)?,
        Slot::Further(key) => settings.further.set(key, further(key, typed, text).map_err(refuse)?),
    }
    Ok(())
}

/// The value of a setting that the scenario declares; an error says which values are accepted.
fn further(key: &FurtherKey, typed: Typed, text: &str) -> Result<FurtherValue, String> {
    let value = match key.quantity {
        Quantity::Count { .. } | Quantity::Time => FurtherValue::Whole(typed.whole(text)?),
        Quantity::PerSecond | Quantity::Percentile => FurtherValue::Real(typed.real(text)?),
        Quantity::Text(_) => FurtherValue::Text(text.to_owned()),
    };
    key.check(&value)?;
    Ok(value)
}

fn parse_scenario(name: &str) -> Result<Scenario, AssignmentError> {
    let names = Scenario::ALL.map(Scenario::name);
    named("scenario", name, &names).map(|index| Scenario::ALL[index]).map_err(AssignmentError::Scenario)
}

fn parse_mode(text: &str) -> Result<Mode, UnknownName> {
    let numbered = text.parse::<usize>().ok().filter(|number| *number < Mode::ALL.len());
    let index = numbered.map_or_else(|| named("mode", text, &Mode::ALL.map(Mode::name)), Ok);
    index.map(|index| Mode::ALL[index])
}

fn unknown_key(key: &str, scenarios: &[Scenario]) -> AssignmentError {
    let mut valid: Vec<&'static str> = Vec::new();
    for name in scenarios.iter().flat_map(|scenario| keys::names_in(*scenario)) {
        if !valid.contains(&name) {
            valid.push(name);
        }
    }
    let place = match scenarios {
        [one] => one.name(),
        _ => "any scenario",
    };
    let close = keys::closest(key, valid.iter().copied()).map(|name| format!(" (did you mean '{name}'?)"));
    let hint = worked_out(key).map(str::to_owned).or(close).unwrap_or_default();
    AssignmentError::Key { key: key.to_owned(), place, hint, valid }
}

/// The keys that are accepted, as the end of a sentence; nothing behind a suggestion.
fn listed(hint: &str, valid: &[&str]) -> String {
    if hint.is_empty() { format!("; valid: {}", valid.join(", ")) } else { String::new() }
}

/// Of a value that `conf` shows and that follows from settings: from which. Of an option of a SUT node: that it is one.
fn worked_out(name: &str) -> Option<&'static str> {
    match name {
        "qps" | "rate" => Some(" (did you mean 'target_qps'?)"),
        "min_sample_count" => Some(" (it follows from min_query_count and the samples of a query)"),
        "max_batch" | "batch" | "batch_size" => Some(" (batches are set at the node: sut-node serve --max-batch)"),
        "max_delay" | "workers" | "threads" => Some(" (it is set at the node: a flag of sut-node serve)"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server() -> TestSettings {
        TestSettings { scenario: Scenario::SERVER, ..TestSettings::default() }
    }

    #[test]
    fn units_are_those_of_the_config_files() {
        let mut settings = server();
        for text in
            ["target_qps=500.5", "Server.target_latency=15", "target_latency_percentile=95", "min_duration=60ms"]
        {
            assert!(matches!(settings.set(text), Ok(Assigned::Here(_))), "{text}");
        }
        assert_eq!(settings.server_target_qps, 500.5);
        assert_eq!(settings.server_target_latency_ns, 15_000_000);
        assert_eq!(settings.server_target_latency_percentile, 0.950_000_000_000_000_1);
        assert_eq!(settings.min_duration_ms, 60);
    }

    #[test]
    fn rates_and_expected_latencies_can_be_left_to_be_found() {
        let mut settings = server();
        let rate: Assignment = "target_qps=auto".parse().unwrap();
        assert_eq!(settings.assign(&rate), Ok(Assigned::Here("server_target_qps")));
        assert!(rate.is_auto() && settings == server());
        assert!("SingleStream.target_latency=Auto".parse::<Assignment>().unwrap().is_auto());
        assert!(settings.set("target_latency=auto").is_err(), "Server's is a limit");
        assert!("min_duration=auto".parse::<Assignment>().is_err());
    }

    #[test]
    fn assignments_for_another_scenario_change_nothing() {
        let mut settings = server();
        assert_eq!(settings.set("Offline.target_qps=9"), Ok(Assigned::Nothing));
        assert_eq!(settings, server());
    }

    #[test]
    fn fields_of_another_scenario_are_taken_as_results_have_them() {
        let mut settings = server();
        assert_eq!(settings.set("offline_expected_qps=9"), Ok(Assigned::Elsewhere("offline_expected_qps")));
        assert_eq!(settings, TestSettings { offline_expected_qps: 9.0, ..server() });
        assert!(settings.set("offline_expected_qps=auto").is_err(), "a look finds what this scenario has");
        assert!(settings.set("Server.offline_expected_qps=9").is_err());
    }

    #[test]
    fn the_scenario_can_be_said_again_but_not_changed() {
        assert_eq!(server().set("scenario=server"), Ok(Assigned::Nothing));
        let text = server().set("scenario=Offline").unwrap_err().to_string();
        assert_eq!(text, "scenario: 'Offline' is not Server, which --scenario has chosen");
    }

    /// Two values for each field, each other than LoadGen's default.
    fn odd(scenario: Scenario, step: u64) -> TestSettings {
        let mut settings = TestSettings { scenario, mode: Mode::ALL[step as usize], ..TestSettings::default() };
        for (i, key) in keys::official_fields().enumerate() {
            let number = 1 + 2 * i as u64 + step;
            match (key.slot, key.unit) {
                (Slot::Mode, _) => {}
                (Slot::Flag(field, _), _) => *field(&mut settings) ^= true,
                (Slot::Whole(field, _) | Slot::Narrow(field), _) => *field(&mut settings) = number * 1_000_003,
                (Slot::Signed(field), _) => *field(&mut settings) = number as i32 - 9,
                (Slot::Real(field, _), Unit::Percent | Unit::Percentile) => {
                    *field(&mut settings) = 0.5 + number as f64 / 250.0;
                }
                (Slot::Real(field, _), _) => *field(&mut settings) = number as f64 + 0.1,
                (Slot::Further(key), _) => panic!("{} is no official key", key.name),
            }
        }
        settings
    }

    /// Checks that the settings as results and `conf` print them can be given back, name by name.
    #[test]
    fn settings_can_be_set_as_they_are_printed() {
        for (scenario, step) in Scenario::ALL.into_iter().flat_map(|scenario| [(scenario, 0), (scenario, 1)]) {
            let expected = odd(scenario, step);
            let printed = serde_json::to_value(&expected).unwrap();
            let mut settings = TestSettings { scenario, ..TestSettings::default() };
            for (name, value) in printed.as_object().unwrap() {
                let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                let set = settings.set(&format!("{name}={value}"));
                if name == "accuracy_log_probability" {
                    // A key in percent of the same name: the sign has to be added, and nothing is mistaken without.
                    assert!(set.unwrap_err().to_string().contains("%"), "{value}");
                    settings.set(&format!("{name}={}%", expected.accuracy_log_probability * 100.0)).unwrap();
                    assert!((settings.accuracy_log_probability - expected.accuracy_log_probability).abs() < 1e-12);
                    settings.accuracy_log_probability = expected.accuracy_log_probability;
                    continue;
                }
                set.unwrap_or_else(|error| panic!("{name}: {error}"));
            }
            assert_eq!(settings, expected);
        }
    }

    /// The other way round: every key of config files is taken in its scenarios, and so is what conf calls it.
    #[test]
    fn keys_and_names_in_force_mean_the_same_as_fields() {
        for scenario in Scenario::OFFICIAL {
            let names = keys::KEYS.iter().map(|key| key.name).chain(keys::IN_FORCE.iter().map(|(name, _)| *name));
            for name in names {
                let Some((key, is_field)) = keys::find_typed(name, scenario) else { continue };
                let printed = serde_json::to_value(odd(scenario, 1)).unwrap()[key.field].clone();
                let text = printed.as_str().map_or_else(|| printed.to_string(), str::to_owned);
                let set = |text: String| {
                    let mut settings = TestSettings { scenario, ..TestSettings::default() };
                    settings.set(&text).map(|_| settings)
                };
                // The key's own unit is what the field is divided by.
                let counted = match (printed.as_f64(), is_field) {
                    (Some(number), false) if key.factor() != 1.0 => (number / key.factor()).to_string(),
                    _ => text,
                };
                let parsed = set(format!("{name}={counted}"));
                let same = |parsed: &TestSettings| {
                    let value = serde_json::to_value(parsed).unwrap()[key.field].clone();
                    match (value.as_f64(), printed.as_f64()) {
                        (Some(number), Some(expected)) => (number - expected).abs() <= 1e-9 * expected.abs(),
                        _ => value == printed,
                    }
                };
                assert!(parsed.as_ref().is_ok_and(same), "{name}={counted} in {}: {parsed:?}", scenario.name());
            }
        }
    }

    #[test]
    fn a_misspelt_key_is_named_with_a_suggestion() {
        let text = server().set("target_qsp=3").unwrap_err().to_string();
        assert!(text.contains("'target_qsp'") && text.ends_with("(did you mean 'target_qps'?)"), "{text}");
    }

    #[test]
    fn a_key_of_another_scenario_is_refused_with_the_valid_ones() {
        let text = server().set("samples_per_query=3").unwrap_err().to_string();
        assert!(text.contains("Server") && text.contains("target_qps"), "{text}");
        assert!(!text.contains("valid: samples_per_query"), "{text}");
    }

    #[test]
    fn bad_values_and_forms_are_refused() {
        for text in ["target_latency=10.0000001", "min_query_count=-1", "coalesce_queries=yes", "target_qps=inf"] {
            let error = server().set(text).unwrap_err();
            assert!(matches!(error, AssignmentError::Value { .. }), "{text}: {error}");
        }
        assert!(matches!(server().set("target_qps"), Err(AssignmentError::Form { .. })));
        assert!(matches!(server().set("Sever.target_qps=1"), Err(AssignmentError::Scenario(_))));
    }
}
