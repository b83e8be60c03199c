//! Config files of the round: keys, units, and which line counts.
//!
//! Lines and numbers are read as by the reader of later rounds. Keys of one scenario are read for every scenario, the
//! others for the one that is asked for.

use thiserror::Error;

use super::settings::Settings;
use crate::conf::parse::{Fault, Table};
use crate::conf::{real, whole};
use crate::settings::Mode;

/// The first faulty line of a config file, of which nothing was applied.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("line {}: {fault}", fault.line())]
pub struct ConfError {
    /// The fault of the line.
    pub fault: Fault,
}

/// Takes a number of a config file into the settings.
enum Field {
    /// A whole number.
    Count(fn(&mut Settings) -> &mut u64),
    /// Whole milliseconds, kept in ns.
    Millis(fn(&mut Settings) -> &mut u64),
    /// A real number.
    Real(fn(&mut Settings) -> &mut f64),
    /// Percent, kept as a fraction.
    Percent(fn(&mut Settings) -> &mut f64),
    /// A number that is 0 or not.
    Flag(fn(&mut Settings) -> &mut bool),
    /// The number of a mode.
    Mode,
}

/// The keys that are read for the scenario that is asked for.
const GENERAL: [(&str, Field); 15] = [
    ("mode", Field::Mode),
    ("min_duration", Field::Count(|s| &mut s.min_duration_ms)),
    ("max_duration", Field::Count(|s| &mut s.max_duration_ms)),
    ("min_query_count", Field::Count(|s| &mut s.min_query_count)),
    ("max_query_count", Field::Count(|s| &mut s.max_query_count)),
    ("qsl_rng_seed", Field::Count(|s| &mut s.qsl_rng_seed)),
    ("sample_index_rng_seed", Field::Count(|s| &mut s.sample_index_rng_seed)),
    ("schedule_rng_seed", Field::Count(|s| &mut s.schedule_rng_seed)),
    ("accuracy_log_rng_seed", Field::Count(|s| &mut s.accuracy_log_rng_seed)),
    ("accuracy_log_probability", Field::Percent(|s| &mut s.accuracy_log_probability)),
    ("print_timestamps", Field::Flag(|s| &mut s.print_timestamps)),
    ("performance_issue_unique", Field::Flag(|s| &mut s.performance_issue_unique)),
    ("performance_issue_same", Field::Flag(|s| &mut s.performance_issue_same)),
    ("performance_issue_same_index", Field::Count(|s| &mut s.performance_issue_same_index)),
    ("performance_sample_count_override", Field::Count(|s| &mut s.performance_sample_count_override)),
];

/// The keys of one scenario: the scenario, the key, what it sets.
const OF_SCENARIOS: [(&str, &str, Field); 12] = [
    ("SingleStream", "target_latency", Field::Millis(|s| &mut s.single_stream_expected_latency_ns)),
    ("SingleStream", "target_latency_percentile", Field::Percent(|s| &mut s.single_stream_target_latency_percentile)),
    ("MultiStream", "target_qps", Field::Real(|s| &mut s.multi_stream_target_qps)),
    ("MultiStream", "target_latency_percentile", Field::Percent(|s| &mut s.multi_stream_target_latency_percentile)),
    ("MultiStream", "samples_per_query", Field::Count(|s| &mut s.multi_stream_samples_per_query)),
    ("MultiStream", "max_async_queries", Field::Count(|s| &mut s.multi_stream_max_async_queries)),
    ("Server", "target_qps", Field::Real(|s| &mut s.server_target_qps)),
    ("Server", "target_latency", Field::Millis(|s| &mut s.server_target_latency_ns)),
    ("Server", "target_latency_percentile", Field::Percent(|s| &mut s.server_target_latency_percentile)),
    ("Server", "coalesce_queries", Field::Flag(|s| &mut s.server_coalesce_queries)),
    ("Server", "max_async_queries", Field::Count(|s| &mut s.server_max_async_queries)),
    ("Offline", "target_qps", Field::Real(|s| &mut s.offline_expected_qps)),
];

/// Applies a config file for a model and a scenario, which may be any text. Returns the errors for the log.
///
/// # Errors
/// A line is faulty; nothing is applied.
pub fn apply(text: &str, model: &str, scenario: &str, settings: &mut Settings) -> Result<Vec<String>, ConfError> {
    let table = Table::parse(text);
    if let Some(fault) = table.faults().first() {
        return Err(ConfError { fault: fault.clone() });
    }
    let mut errors = Vec::new();
    for (key, field) in &GENERAL {
        if let Some(value) = table.value(model, scenario, key) {
            errors.extend(field.set(settings, value));
        }
    }
    for (section, key, field) in &OF_SCENARIOS {
        if let Some(value) = table.value(model, section, key) {
            errors.extend(field.set(settings, value));
        }
    }
    Ok(errors)
}

/// Applies one key as if a file gave it for the scenario of the settings. `None`: there is no such key.
pub fn assign(key: &str, value: &str, settings: &mut Settings) -> Option<Vec<String>> {
    let section = settings.scenario.shape().section;
    let general = GENERAL.iter().find(|(known, _)| *known == key).map(|(_, field)| field);
    let own = OF_SCENARIOS.iter().find(|(of, known, _)| (*of, *known) == (section, key)).map(|(.., field)| field);
    general.or(own).map(|field| field.set(settings, value).into_iter().collect())
}

impl Field {
    /// Takes a value that the reader has found to be a number; returns the error for the log.
    fn set(&self, settings: &mut Settings, text: &str) -> Option<String> {
        let count = whole(text).value;
        let number = real(text).unwrap_or_default();
        match self {
            Self::Count(field) => *field(settings) = count,
            Self::Millis(field) => *field(settings) = count.wrapping_mul(1_000_000),
            Self::Real(field) => *field(settings) = number,
            Self::Percent(field) => *field(settings) = number * 0.01,
            Self::Flag(field) => *field(settings) = count != 0,
            Self::Mode => match usize::try_from(count).ok().and_then(|index| Mode::ALL.get(index)) {
                Some(mode) => settings.mode = *mode,
                None => return Some(format!("Invalid value passed to Mode key in config: {count}")),
            },
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn applied(text: &str, scenario: &str) -> (Settings, Vec<String>) {
        let mut settings = Settings::default();
        let errors = apply(text, "m", scenario, &mut settings).unwrap();
        (settings, errors)
    }

    #[test]
    fn units_are_those_of_the_round() {
        let text = "*.Server.target_latency = 15.7\n*.Server.target_latency_percentile = 97.5\n*.*.max_duration = 010\n\
                    *.SingleStream.target_latency = 0x10\n*.*.accuracy_log_probability = 10";
        let (settings, errors) = applied(text, "Server");
        assert_eq!(settings.server_target_latency_ns, 15_000_000);
        assert_eq!(settings.server_target_latency_percentile, 0.975);
        assert_eq!((settings.max_duration_ms, settings.accuracy_log_probability), (8, 0.1));
        assert_eq!(settings.single_stream_expected_latency_ns, 16_000_000, "read for every scenario");
        assert!(errors.is_empty());
    }

    #[test]
    fn a_key_that_the_round_does_not_read_changes_nothing() {
        let text =
            "*.MultiStream.target_latency = 50\n*.Server.target_duration = 5\n*.Offline.target_latency_percentile = 1";
        assert_eq!(applied(text, "MultiStream").0, Settings::default());
    }

    #[test]
    fn other_numbers_are_no_modes() {
        let (settings, errors) = applied("*.*.mode = 1", "Server");
        assert_eq!((settings.mode, errors.len()), (Mode::AccuracyOnly, 0));
        let (settings, errors) = applied("*.*.mode = 4", "Server");
        assert_eq!((settings.mode, errors.len()), (Mode::PerformanceOnly, 1));
    }

    #[test]
    fn one_bad_line_voids_the_file() {
        let mut settings = Settings::default();
        let error = apply("*.*.min_duration = 1\n*.*.max_duration = x", "m", "Server", &mut settings).unwrap_err();
        assert!(error.to_string().starts_with("line 2: "), "{error}");
        assert_eq!(settings, Settings::default());
    }

    #[test]
    fn a_key_alone_is_one_of_the_scenario() {
        let mut settings =
            Settings { scenario: super::super::scenario::Scenario::MultiStreamFree, ..Settings::default() };
        assert_eq!(assign("target_qps", "50", &mut settings), Some(vec![]));
        assert_eq!((settings.multi_stream_target_qps, settings.server_target_qps), (50.0, 1.0));
        assert_eq!(assign("target_latency", "50", &mut settings), None, "MultiStream has none");
    }
}
