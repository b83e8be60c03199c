//! A detail log as the official scripts read it (`tools/submission/log_parser.py`): lines with the marker are JSON,
//! others are skipped, and of a key that repeats the first value counts.

use std::collections::BTreeMap;

use loadgen::official::{DetailLog, LogError};
use lon_proto::text::on_one_line;
use lon_shell::documents::of_text;
use serde::Deserialize;
use serde_json::Value;

const MARKER: &str = ":::MLLOG";
/// The keys of the counts of the library.
const LIBRARY: [&str; 2] = ["qsl_reported_total_count", "qsl_reported_performance_count"];

/// A line of the log; keys that are not needed here are not read.
#[derive(Deserialize)]
struct Line {
    key: String,
    value: Value,
    #[serde(default)]
    metadata: Metadata,
}

/// The part of a line that says what kind of line it is.
#[derive(Default, Deserialize)]
struct Metadata {
    #[serde(default)]
    is_error: bool,
}

/// The contents of a detail log.
#[derive(Clone, Debug)]
pub struct Detail {
    first: BTreeMap<String, Value>,
    error_lines: u64,
    /// The largest count of samples that a line says the library has.
    qsl_samples: u64,
    /// The log in the form in which the engine reads it, or why it does not.
    log: Result<DetailLog, LogError>,
}

impl Detail {
    /// Reads the text of the file.
    ///
    /// # Errors
    /// The first line has no marker, or a line with the marker is not JSON; the number of the line is told.
    pub fn read(text: &str) -> Result<Detail, String> {
        if !text.starts_with(MARKER) {
            return Err(format!("line 1 does not begin with {MARKER}"));
        }
        let (mut first, mut error_lines, mut qsl_samples) = (BTreeMap::new(), 0, 0);
        let lines = text.lines().enumerate().filter_map(|(index, line)| Some((index, line.strip_prefix(MARKER)?)));
        for (index, json) in lines {
            let line: Line = of_text(json).map_err(|error| format!("line {}: {error}", index + 1))?;
            error_lines += u64::from(line.metadata.is_error);
            if LIBRARY.contains(&line.key.as_str()) {
                qsl_samples = qsl_samples.max(line.value.as_u64().unwrap_or(0));
            }
            first.entry(line.key).or_insert(line.value);
        }
        let marked = text.lines().filter(|line| line.starts_with(MARKER)).map(|line| Ok(on_one_line(line)));
        Ok(Detail { first, error_lines, qsl_samples, log: DetailLog::read(marked) })
    }

    /// The first value of a key.
    pub fn value(&self, key: &str) -> Option<&Value> {
        self.first.get(key)
    }

    /// The first value of a key as a number; numbers in texts count, as they do for the scripts.
    pub fn number(&self, key: &str) -> Option<f64> {
        match self.value(key)? {
            Value::Number(number) => number.as_f64(),
            Value::String(text) => text.trim().parse().ok(),
            _ => None,
        }
    }

    /// The first value of a key as a whole number.
    pub fn whole(&self, key: &str) -> Option<u64> {
        self.value(key)?.as_u64()
    }

    /// The first value of a key as a text.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.value(key)?.as_str()
    }

    /// Returns true when the log calls its result VALID.
    pub fn is_valid(&self) -> bool {
        self.text("result_validity") == Some("VALID")
    }

    /// Returns true when the scripts take the log for one with errors: by its count, or by its lines where it has no
    /// count.
    pub fn has_errors(&self) -> bool {
        match self.value("num_errors") {
            Some(count) => count.as_f64() != Some(0.0),
            None => self.error_lines > 0,
        }
    }

    /// Returns the number of lines that are errors.
    pub fn error_lines(&self) -> u64 {
        self.error_lines
    }

    /// The largest count of samples that any line says the library has, so that no line asks for memory unseen.
    pub(super) fn qsl_samples(&self) -> u64 {
        self.qsl_samples
    }

    /// Returns true when both logs are of one run: two runs differ in their times, so no two logs say the same
    /// throughout.
    pub(super) fn is_of_same_run(&self, other: &Detail) -> bool {
        self.first == other.first && self.error_lines == other.error_lines
    }

    /// Every key that begins like this, with its first value.
    pub(super) fn beginning<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = (&'a str, &'a Value)> + 'a {
        self.first.iter().filter(move |(key, _)| key.starts_with(prefix)).map(|(key, value)| (key.as_str(), value))
    }

    /// The log as the engine reads it.
    pub fn log(&self) -> Result<&DetailLog, &LogError> {
        self.log.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_two_values_counts_and_other_lines_are_skipped() {
        let text = ":::MLLOG {\"key\": \"a\", \"value\": 1, \"metadata\": {\"is_error\": true}}\nMark x\n\
                    :::MLLOG {\"key\": \"a\", \"value\": \"2\"}\n:::MLLOG {\"key\": \"b\", \"value\": \"2.5\"}\n";
        let detail = Detail::read(text).unwrap();
        assert_eq!((detail.whole("a"), detail.number("b"), detail.has_errors()), (Some(1), Some(2.5), true));
    }

    #[test]
    fn a_count_of_errors_goes_before_lines_of_errors() {
        let text = ":::MLLOG {\"key\": \"num_errors\", \"value\": 0, \"metadata\": {\"is_error\": true}}\n";
        assert!(!Detail::read(text).unwrap().has_errors());
    }

    #[test]
    fn the_largest_library_is_found_in_any_line() {
        let line = |count: u64| format!(":::MLLOG {{\"key\": \"qsl_reported_total_count\", \"value\": {count}}}\n");
        let detail = Detail::read(&(line(5) + &line(4_000_000_000))).unwrap();
        assert_eq!((detail.whole("qsl_reported_total_count"), detail.qsl_samples()), (Some(5), 4_000_000_000));
    }

    #[test]
    fn a_copy_of_a_log_is_of_the_same_run() {
        let log = |value: u64| Detail::read(&format!(":::MLLOG {{\"key\": \"a\", \"value\": {value}}}\n")).unwrap();
        assert!(log(1).is_of_same_run(&log(1)) && !log(1).is_of_same_run(&log(2)));
    }

    #[test]
    fn a_log_without_marker_or_json_is_refused() {
        assert!(Detail::read("x\n").unwrap_err().contains("line 1"));
        assert!(Detail::read(":::MLLOG {\"key\": \"a\", \"value\": 1}\n:::MLLOG {\n").unwrap_err().contains("line 2"));
    }
}
