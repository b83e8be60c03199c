//! `[SCENARIO.]KEY=VALUE`: assigning a setting by its LoadGen config key, in the units of the config files.
//!
//! For one assignment typed by a person, so it is strict: whole numbers where whole numbers are meant, known keys only.
//! The lenient rules of official config files are in `crate::conf`; the keys of both in `keys`.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use super::keys::{self, KEYS, Key, Slot, Unit};
use super::names::{UnknownName, named};
use super::typed::Typed;
use crate::requested::Mode;
use crate::scenario::{Scenario, TestSettings};

/// The value that stands for one which a look at the SUT finds.
const AUTO: &str = "auto";

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
        /// What was typed.
        text: String,
    },
    /// The part before the dot is not a scenario.
    #[error("{0}")]
    Scenario(UnknownName),
    /// No such key, at least not in this scenario.
    #[error("no setting '{key}' in {place}{hint}; valid: {}", valid.join(", "))]
    Key {
        /// What was typed.
        key: String,
        /// Where it was looked for.
        place: &'static str,
        /// A suggestion, or nothing.
        hint: String,
        /// What would have been accepted.
        valid: Vec<&'static str>,
    },
    /// The value does not fit the key.
    #[error("{key}: '{value}' is not {wanted}")]
    Value {
        /// The key that the value is for.
        key: String,
        /// What was typed.
        value: String,
        /// What would have been accepted.
        wanted: String,
    },
}

impl FromStr for Assignment {
    type Err = AssignmentError;

    fn from_str(text: &str) -> Result<Self, AssignmentError> {
        let form = || AssignmentError::Form { text: text.to_owned() };
        let (name, value) = text.split_once('=').ok_or_else(form)?;
        let (scenario, key) = match name.trim().split_once('.') {
            Some((scenario, key)) => (Some(parse_scenario(scenario)?), key.trim()),
            None => (None, name.trim()),
        };
        if key.is_empty() {
            return Err(form());
        }
        let assignment = Self { scenario, key: key.to_owned(), value: value.trim().to_owned() };
        assignment.check()?;
        Ok(assignment)
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
    /// The value is to be found by a look at the SUT. Only rates and expected latencies can be.
    pub fn is_auto(&self) -> bool {
        self.value.eq_ignore_ascii_case(AUTO)
    }

    /// Tries it on default settings, in every scenario it may apply to.
    fn check(&self) -> Result<(), AssignmentError> {
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
}

impl TestSettings {
    /// Carries out an assignment; `false` when it is for another scenario than that of these settings.
    ///
    /// # Errors
    /// The key does not exist in this scenario, or the value does not fit it.
    pub fn assign(&mut self, assignment: &Assignment) -> Result<bool, AssignmentError> {
        if assignment.scenario.is_some_and(|only| only != self.scenario) {
            return Ok(false);
        }
        let found = keys::find_typed(&assignment.key, self.scenario);
        let (key, is_field) = found.ok_or_else(|| unknown_key(&assignment.key, &[self.scenario]))?;
        store(key, Typed::new(key, is_field), self, assignment)?;
        Ok(true)
    }

    /// Parses and carries out `[SCENARIO.]KEY=VALUE`.
    ///
    /// # Errors
    /// The text has another form, the key does not exist in this scenario, or the value does not fit it.
    pub fn set(&mut self, text: &str) -> Result<bool, AssignmentError> {
        self.assign(&text.parse()?)
    }
}

/// Stores a typed value strictly.
fn store(key: &Key, typed: Typed, settings: &mut TestSettings, assignment: &Assignment) -> Result<(), AssignmentError> {
    let text = assignment.value.as_str();
    let refuse = |wanted: String| {
        let (key, value) = (assignment.key.clone(), assignment.value.clone());
        AssignmentError::Value { key, value, wanted }
    };
    match key.slot {
        Slot::Mode => settings.mode = parse_mode(text).map_err(|error| refuse(format!("a mode: {error}")))?,
        Slot::Flag(field, _) => {
            *field(settings) = match text {
                "1" | "true" => true,
                "0" | "false" => false,
                _ => return Err(refuse("a switch: 0, 1, true or false".to_owned())),
            }
        }
        // Left as it is until it has been found.
        Slot::Real(..) if assignment.is_auto() && matches!(key.unit, Unit::PerSecond | Unit::Ms) => {}
        Slot::Whole(field, _) | Slot::Narrow(field) => *field(settings) = typed.whole(text).map_err(refuse)?,
        Slot::Real(field, _) => *field(settings) = typed.real(text).map_err(refuse)?,
    }
    Ok(())
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
    for known in KEYS.iter().filter(|known| scenarios.iter().any(|s| known.only.is_none_or(|only| only == *s))) {
        if !valid.contains(&known.name) {
            valid.push(known.name);
        }
    }
    let place = match scenarios {
        [one] => one.name(),
        _ => "any scenario",
    };
    let close = keys::closest(key, valid.iter().copied());
    let hint = close.map(|known| format!(" (did you mean '{known}'?)")).unwrap_or_default();
    AssignmentError::Key { key: key.to_owned(), place, hint, valid }
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
        for text in ["target_qps=500.5", "Server.target_latency=15", "target_latency_percentile=95", "min_duration=60"]
        {
            assert_eq!(settings.set(text), Ok(true), "{text}");
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
        assert!(rate.is_auto() && settings.assign(&rate) == Ok(true) && settings == server());
        assert!("SingleStream.target_latency=Auto".parse::<Assignment>().unwrap().is_auto());
        assert!(settings.set("target_latency=auto").is_err(), "Server's is a limit");
        assert!("min_duration=auto".parse::<Assignment>().is_err());
    }

    #[test]
    fn assignments_for_another_scenario_change_nothing() {
        let mut settings = server();
        assert_eq!(settings.set("Offline.target_qps=9"), Ok(false));
        assert_eq!(settings, server());
    }

    #[test]
    fn a_misspelt_key_is_named_with_a_suggestion() {
        let text = server().set("target_qsp=3").unwrap_err().to_string();
        assert!(text.contains("'target_qsp'") && text.contains("did you mean 'target_qps'"), "{text}");
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
