//! `[SCENARIO.]KEY=VALUE`: assigning a setting by its LoadGen config key, in the units of the config files.
//!
//! For one assignment typed by a person, so it is strict: whole numbers where whole numbers are meant, known keys only.
//! The lenient rules of official config files are not here.

use std::str::FromStr;

use thiserror::Error;

use super::{Mode, Scenario, TestSettings};

/// A checked assignment: the key exists for the scenario it names, if it names one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// Only for this scenario; `None` = whichever is run.
    pub scenario: Option<Scenario>,
    /// The config key.
    pub key: String,
    /// The value, as typed.
    pub value: String,
}

/// Why an assignment was refused.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum AssignmentError {
    /// No `=` in it.
    #[error("'{text}' is not [SCENARIO.]KEY=VALUE")]
    Form {
        /// What was typed.
        text: String,
    },
    /// The part before the dot is not a scenario.
    #[error("'{name}' is not a scenario (SingleStream, MultiStream, Server, Offline)")]
    Scenario {
        /// What was typed.
        name: String,
    },
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
        /// The key.
        key: String,
        /// What was typed.
        value: String,
        /// What would have been accepted.
        wanted: &'static str,
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

impl Assignment {
    /// Tries it on default settings, in every scenario it may apply to.
    fn check(&self) -> Result<(), AssignmentError> {
        let scenarios: Vec<Scenario> =
            Scenario::ALL.into_iter().filter(|s| self.scenario.is_none_or(|only| only == *s)).collect();
        match scenarios.iter().find(|s| slot(&self.key, **s).is_some()) {
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
        let slot =
            slot(&assignment.key, self.scenario).ok_or_else(|| unknown_key(&assignment.key, &[self.scenario]))?;
        slot.store(self, assignment)?;
        Ok(true)
    }

    /// Parses and carries out `[SCENARIO.]KEY=VALUE`.
    ///
    /// # Errors
    /// As [`TestSettings::assign`], and when the text has not this form.
    pub fn set(&mut self, text: &str) -> Result<bool, AssignmentError> {
        self.assign(&text.parse()?)
    }
}

/// Where a key's value goes, and how it is converted.
enum Slot {
    Mode,
    Flag(fn(&mut TestSettings) -> &mut bool),
    /// A whole number times a factor.
    Whole(fn(&mut TestSettings) -> &mut u64, u64),
    /// A real number times a factor.
    Real(fn(&mut TestSettings) -> &mut f64, f64),
}

impl Slot {
    fn store(&self, settings: &mut TestSettings, assignment: &Assignment) -> Result<(), AssignmentError> {
        let text = assignment.value.as_str();
        let refuse =
            |wanted| AssignmentError::Value { key: assignment.key.clone(), value: assignment.value.clone(), wanted };
        match self {
            Self::Mode => settings.mode = parse_mode(text).ok_or_else(|| refuse("a mode (name or 0 to 3)"))?,
            Self::Flag(field) => {
                *field(settings) = match text {
                    "1" | "true" => true,
                    "0" | "false" => false,
                    _ => return Err(refuse("0, 1, true or false")),
                }
            }
            Self::Whole(field, factor) => {
                let number: Option<u64> = text.parse().ok();
                *field(settings) = number
                    .and_then(|n| n.checked_mul(*factor))
                    .ok_or_else(|| refuse("a whole number in the range of this setting"))?;
            }
            Self::Real(field, factor) => {
                let number: Option<f64> = text.parse().ok().filter(|x: &f64| x.is_finite());
                *field(settings) = number.ok_or_else(|| refuse("a number"))? * factor;
            }
        }
        Ok(())
    }
}

/// Percent to fraction, the official way (a product: 95 gives 0.9500000000000001).
const PERCENT: f64 = 0.01;
/// Milliseconds to nanoseconds.
const MS_REAL: f64 = 1e6;
const MS_WHOLE: u64 = 1_000_000;

/// Every config key, in the order in which help lists them.
const KEYS: [&str; 33] = [
    "mode",
    "target_qps",
    "target_latency",
    "target_latency_percentile",
    "samples_per_query",
    "coalesce_queries",
    "max_async_queries",
    "min_duration",
    "max_duration",
    "min_query_count",
    "max_query_count",
    "qsl_rng_seed",
    "sample_index_rng_seed",
    "schedule_rng_seed",
    "accuracy_log_rng_seed",
    "accuracy_log_probability",
    "accuracy_log_sampling_target",
    "sample_concatenate_permutation",
    "performance_issue_unique",
    "performance_issue_same",
    "performance_issue_same_index",
    "performance_sample_count_override",
    "accuracy_sample_count_override",
    "use_token_latencies",
    "ttft_latency",
    "tpot_latency",
    "infer_token_latencies",
    "token_latency_scaling_factor",
    "print_timestamps",
    "test05",
    "test05_qsl_rng_seed",
    "test05_sample_index_rng_seed",
    "test05_schedule_rng_seed",
];

fn slot(key: &str, scenario: Scenario) -> Option<Slot> {
    scenario_slot(key, scenario).or_else(|| common_slot(key))
}

/// Keys whose field depends on the scenario, or which exist in some only.
fn scenario_slot(key: &str, scenario: Scenario) -> Option<Slot> {
    use Scenario::{MultiStream, Offline, Server, SingleStream};
    Some(match (key, scenario) {
        ("target_qps", Server) => Slot::Real(|s| &mut s.server_target_qps, 1.0),
        ("target_qps", Offline) => Slot::Real(|s| &mut s.offline_expected_qps, 1.0),
        ("target_latency", Server) => Slot::Whole(|s| &mut s.server_target_latency_ns, MS_WHOLE),
        ("target_latency", SingleStream) => Slot::Real(|s| &mut s.single_stream_expected_latency_ns, MS_REAL),
        ("target_latency", MultiStream) => Slot::Real(|s| &mut s.multi_stream_expected_latency_ns, MS_REAL),
        ("target_latency_percentile", SingleStream) => {
            Slot::Real(|s| &mut s.single_stream_target_latency_percentile, PERCENT)
        }
        ("target_latency_percentile", MultiStream) => {
            Slot::Real(|s| &mut s.multi_stream_target_latency_percentile, PERCENT)
        }
        ("target_latency_percentile", Server) => Slot::Real(|s| &mut s.server_target_latency_percentile, PERCENT),
        ("samples_per_query", MultiStream) => Slot::Whole(|s| &mut s.multi_stream_samples_per_query, 1),
        ("coalesce_queries", Server) => Slot::Flag(|s| &mut s.server_coalesce_queries),
        ("max_async_queries", Server) => Slot::Whole(|s| &mut s.server_max_async_queries, 1),
        ("ttft_latency", Server) => Slot::Whole(|s| &mut s.server_ttft_latency, MS_WHOLE),
        ("tpot_latency", Server) => Slot::Whole(|s| &mut s.server_tpot_latency, MS_WHOLE),
        _ => return None,
    })
}

/// Keys that mean the same in every scenario.
fn common_slot(key: &str) -> Option<Slot> {
    Some(match key {
        "mode" => Slot::Mode,
        "min_duration" => Slot::Whole(|s| &mut s.min_duration_ms, 1),
        "max_duration" => Slot::Whole(|s| &mut s.max_duration_ms, 1),
        "min_query_count" => Slot::Whole(|s| &mut s.min_query_count, 1),
        "max_query_count" => Slot::Whole(|s| &mut s.max_query_count, 1),
        "qsl_rng_seed" => Slot::Whole(|s| &mut s.qsl_rng_seed, 1),
        "sample_index_rng_seed" => Slot::Whole(|s| &mut s.sample_index_rng_seed, 1),
        "schedule_rng_seed" => Slot::Whole(|s| &mut s.schedule_rng_seed, 1),
        "accuracy_log_rng_seed" => Slot::Whole(|s| &mut s.accuracy_log_rng_seed, 1),
        "accuracy_log_probability" => Slot::Real(|s| &mut s.accuracy_log_probability, PERCENT),
        "accuracy_log_sampling_target" => Slot::Whole(|s| &mut s.accuracy_log_sampling_target, 1),
        "sample_concatenate_permutation" => Slot::Flag(|s| &mut s.sample_concatenate_permutation),
        "performance_issue_unique" => Slot::Flag(|s| &mut s.performance_issue_unique),
        "performance_issue_same" => Slot::Flag(|s| &mut s.performance_issue_same),
        "performance_issue_same_index" => Slot::Whole(|s| &mut s.performance_issue_same_index, 1),
        "performance_sample_count_override" => Slot::Whole(|s| &mut s.performance_sample_count_override, 1),
        "accuracy_sample_count_override" => Slot::Whole(|s| &mut s.accuracy_sample_count_override, 1),
        "use_token_latencies" => Slot::Flag(|s| &mut s.use_token_latencies),
        "infer_token_latencies" => Slot::Flag(|s| &mut s.infer_token_latencies),
        "token_latency_scaling_factor" => Slot::Whole(|s| &mut s.token_latency_scaling_factor, 1),
        "print_timestamps" => Slot::Flag(|s| &mut s.print_timestamps),
        "test05" => Slot::Flag(|s| &mut s.test05),
        "test05_qsl_rng_seed" => Slot::Whole(|s| &mut s.test05_qsl_rng_seed, 1),
        "test05_sample_index_rng_seed" => Slot::Whole(|s| &mut s.test05_sample_index_rng_seed, 1),
        "test05_schedule_rng_seed" => Slot::Whole(|s| &mut s.test05_schedule_rng_seed, 1),
        _ => return None,
    })
}

fn parse_scenario(name: &str) -> Result<Scenario, AssignmentError> {
    Scenario::from_name(name.trim()).ok_or_else(|| AssignmentError::Scenario { name: name.to_owned() })
}

fn parse_mode(text: &str) -> Option<Mode> {
    Mode::from_name(text).or_else(|| Mode::ALL.get(text.parse::<usize>().ok()?).copied())
}

fn unknown_key(key: &str, scenarios: &[Scenario]) -> AssignmentError {
    let valid: Vec<&'static str> =
        KEYS.into_iter().filter(|known| scenarios.iter().any(|s| slot(known, *s).is_some())).collect();
    let place = match scenarios {
        [one] => one.name(),
        _ => "any scenario",
    };
    let close = valid.iter().min_by_key(|known| edit_distance(key, known)).filter(|k| edit_distance(key, k) <= 3);
    let hint = close.map(|known| format!(" (did you mean '{known}'?)")).unwrap_or_default();
    AssignmentError::Key { key: key.to_owned(), place, hint, valid }
}

/// Insertions, deletions and replacements that turn one word into the other.
fn edit_distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.bytes().enumerate() {
            let replaced = diagonal + usize::from(from != to);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server() -> TestSettings {
        TestSettings { scenario: Scenario::Server, ..TestSettings::default() }
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
        for text in ["target_latency=10.5", "min_query_count=-1", "coalesce_queries=yes", "target_qps=inf"] {
            let error = server().set(text).unwrap_err();
            assert!(matches!(error, AssignmentError::Value { .. }), "{text}: {error}");
        }
        assert!(matches!(server().set("target_qps"), Err(AssignmentError::Form { .. })));
        assert!(matches!(server().set("Sever.target_qps=1"), Err(AssignmentError::Scenario { .. })));
    }

    #[test]
    fn every_listed_key_exists_somewhere() {
        for key in KEYS {
            assert!(Scenario::ALL.iter().any(|s| slot(key, *s).is_some()), "{key}");
        }
    }
}
