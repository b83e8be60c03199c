//! Config files of the round: keys, units, and which line counts.
//!
//! Lines and numbers are read as by the reader of later rounds. Keys of one scenario are read for every scenario, the
//! others for the one that is asked for.

use Slot::{Count, Flag, Millis, Percent, Real};
use thiserror::Error;

use super::scenario::Scenario;
use super::settings::Settings;
use crate::conf::parse::{Fault, Remark, Table};
use crate::conf::{ANY, real, whole};
use crate::settings::Mode;

/// The first faulty line of a config file, of which nothing was applied.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("line {}: {fault}", fault.line())]
pub struct ConfError {
    /// The fault of the line.
    pub fault: Fault,
}

/// Result of a config file that was applied.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Applied {
    /// The fields that were set, each with the number of its line.
    pub fields: Vec<(&'static str, usize)>,
    /// The errors for the log.
    pub errors: Vec<String>,
    /// Lines with another effect than their looks.
    pub remarks: Vec<Remark>,
}

/// A key of config files.
struct Key {
    /// The scenario whose key it is; `None`: it is read for the scenario that is asked for.
    section: Option<&'static str>,
    name: &'static str,
    /// The field of the settings.
    field: &'static str,
    slot: Slot,
}

/// Takes a number of a config file into the settings.
enum Slot {
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

/// A key that every scenario has.
const fn every(name: &'static str, field: &'static str, slot: Slot) -> Key {
    Key { section: None, name, field, slot }
}

/// A key of one scenario.
const fn only(section: &'static str, name: &'static str, field: &'static str, slot: Slot) -> Key {
    Key { section: Some(section), name, field, slot }
}

/// All keys, those of every scenario first.
const KEYS: [Key; 27] = [
    every("mode", "mode", Slot::Mode),
    every("min_duration", "min_duration_ms", Count(|s| &mut s.min_duration_ms)),
    every("max_duration", "max_duration_ms", Count(|s| &mut s.max_duration_ms)),
    every("min_query_count", "min_query_count", Count(|s| &mut s.min_query_count)),
    every("max_query_count", "max_query_count", Count(|s| &mut s.max_query_count)),
    every("qsl_rng_seed", "qsl_rng_seed", Count(|s| &mut s.qsl_rng_seed)),
    every("sample_index_rng_seed", "sample_index_rng_seed", Count(|s| &mut s.sample_index_rng_seed)),
    every("schedule_rng_seed", "schedule_rng_seed", Count(|s| &mut s.schedule_rng_seed)),
    every("accuracy_log_rng_seed", "accuracy_log_rng_seed", Count(|s| &mut s.accuracy_log_rng_seed)),
    every("accuracy_log_probability", "accuracy_log_probability", Percent(|s| &mut s.accuracy_log_probability)),
    every("print_timestamps", "print_timestamps", Flag(|s| &mut s.print_timestamps)),
    every("performance_issue_unique", "performance_issue_unique", Flag(|s| &mut s.performance_issue_unique)),
    every("performance_issue_same", "performance_issue_same", Flag(|s| &mut s.performance_issue_same)),
    every(
        "performance_issue_same_index",
        "performance_issue_same_index",
        Count(|s| &mut s.performance_issue_same_index),
    ),
    every(
        "performance_sample_count_override",
        "performance_sample_count_override",
        Count(|s| &mut s.performance_sample_count_override),
    ),
    only(
        "SingleStream",
        "target_latency",
        "single_stream_expected_latency_ns",
        Millis(|s| &mut s.single_stream_expected_latency_ns),
    ),
    only(
        "SingleStream",
        "target_latency_percentile",
        "single_stream_target_latency_percentile",
        Percent(|s| &mut s.single_stream_target_latency_percentile),
    ),
    only("MultiStream", "target_qps", "multi_stream_target_qps", Real(|s| &mut s.multi_stream_target_qps)),
    only(
        "MultiStream",
        "target_latency_percentile",
        "multi_stream_target_latency_percentile",
        Percent(|s| &mut s.multi_stream_target_latency_percentile),
    ),
    only(
        "MultiStream",
        "samples_per_query",
        "multi_stream_samples_per_query",
        Count(|s| &mut s.multi_stream_samples_per_query),
    ),
    only(
        "MultiStream",
        "max_async_queries",
        "multi_stream_max_async_queries",
        Count(|s| &mut s.multi_stream_max_async_queries),
    ),
    only("Server", "target_qps", "server_target_qps", Real(|s| &mut s.server_target_qps)),
    only("Server", "target_latency", "server_target_latency_ns", Millis(|s| &mut s.server_target_latency_ns)),
    only(
        "Server",
        "target_latency_percentile",
        "server_target_latency_percentile",
        Percent(|s| &mut s.server_target_latency_percentile),
    ),
    only("Server", "coalesce_queries", "server_coalesce_queries", Flag(|s| &mut s.server_coalesce_queries)),
    only("Server", "max_async_queries", "server_max_async_queries", Count(|s| &mut s.server_max_async_queries)),
    only("Offline", "target_qps", "offline_expected_qps", Real(|s| &mut s.offline_expected_qps)),
];

/// Applies a config file for a model and a scenario, which may be any text.
///
/// # Errors
/// A line is faulty; nothing is applied.
pub fn apply(text: &str, model: &str, scenario: &str, settings: &mut Settings) -> Result<Applied, ConfError> {
    let table = Table::parse(text);
    if let Some(fault) = table.faults().first() {
        return Err(ConfError { fault: fault.clone() });
    }
    let mut applied = Applied { remarks: table.remarks().to_vec(), ..Applied::default() };
    for key in &KEYS {
        if let Some((value, line)) = table.value(model, key.section.unwrap_or(scenario), key.name) {
            applied.errors.extend(key.slot.set(settings, value));
            applied.fields.push((key.field, line));
        }
    }
    let unread = table.keys().filter(|(key, _)| is_unread(key, model));
    let remark = |(key, line)| Remark { line, text: format!("{key} is never read: round v0.5 has no such key") };
    applied.remarks.extend(unread.map(remark));
    applied.remarks.sort_by_key(|remark| remark.line);
    Ok(applied)
}

/// True for a key of this model, or of all models, that no scenario reads.
fn is_unread(key: &str, model: &str) -> bool {
    let mut parts = key.rsplitn(3, '.');
    let (Some(name), Some(section), Some(of)) = (parts.next(), parts.next(), parts.next()) else { return true };
    let is_meant = |key: &Key| key.name == name && (section == ANY || key.section.is_none_or(|own| own == section));
    [model, ANY].contains(&of) && !KEYS.iter().any(is_meant)
}

/// Every key: its name, the scenario whose key it is where it is one of a single scenario, and its field.
pub fn all() -> impl Iterator<Item = (&'static str, Option<&'static str>, &'static str)> {
    KEYS.iter().map(|key| (key.name, key.section, key.field))
}

/// The field that a key sets in a scenario; `None`: the scenario has no such key.
pub fn field(key: &str, scenario: Scenario) -> Option<&'static str> {
    find(key, scenario).map(|key| key.field)
}

/// The keys that a scenario has.
pub fn keys(scenario: Scenario) -> Vec<&'static str> {
    let section = scenario.shape().section;
    KEYS.iter().filter(|key| key.section.is_none_or(|own| own == section)).map(|key| key.name).collect()
}

/// Applies one key as if a file gave it for the scenario of the settings. `None`: there is no such key.
pub fn assign(key: &str, value: &str, settings: &mut Settings) -> Option<Vec<String>> {
    find(key, settings.scenario).map(|key| key.slot.set(settings, value).into_iter().collect())
}

fn find(name: &str, scenario: Scenario) -> Option<&'static Key> {
    let section = scenario.shape().section;
    KEYS.iter().find(|key| key.name == name && key.section.is_none_or(|own| own == section))
}

impl Slot {
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
        let applied = apply(text, "m", scenario, &mut settings).unwrap();
        (settings, applied.errors)
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
        let mut settings = Settings { scenario: Scenario::MultiStreamFree, ..Settings::default() };
        assert_eq!(assign("target_qps", "50", &mut settings), Some(vec![]));
        assert_eq!((settings.multi_stream_target_qps, settings.server_target_qps), (50.0, 1.0));
        assert_eq!(assign("target_latency", "50", &mut settings), None, "MultiStream has none");
    }

    #[test]
    fn fields_know_their_lines_and_keys_that_nobody_reads_are_remarked_on() {
        let text = "m.*.min_duration = 5\n*.MultiStream.target_latency = 50\nother.*.ttft_latency = 1\n\
                    *.*.target_latency = 9\n*.Server.ttft_latency = 3\nmin_duration = 7";
        let mut settings = Settings::default();
        let applied = apply(text, "m", "Server", &mut settings).unwrap();
        let lines: Vec<_> = applied.fields.iter().map(|(field, line)| (*field, *line)).collect();
        let all = ("single_stream_expected_latency_ns", 4);
        assert_eq!(lines, [("min_duration_ms", 1), all, ("server_target_latency_ns", 4)]);
        assert_eq!(applied.remarks.iter().map(|remark| remark.line).collect::<Vec<_>>(), [2, 5, 6]);
        assert!(applied.remarks[1].text.starts_with("*.Server.ttft_latency is never read"));
    }

    #[test]
    fn every_key_sets_a_field_of_the_record() {
        let record = serde_json::to_value(Settings::default()).unwrap();
        assert!(KEYS.iter().all(|key| record.get(key.field).is_some()));
        assert!(keys(Scenario::MultiStream).contains(&"max_async_queries"));
        assert_eq!(field("target_latency", Scenario::MultiStream), None);
        assert_eq!(field("target_qps", Scenario::MultiStream), Some("multi_stream_target_qps"));
    }
}
