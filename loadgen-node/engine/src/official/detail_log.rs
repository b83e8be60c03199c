//! The official detail log: keys, and the text of their values.
//!
//! Its lines look like JSON, but texts in them are not escaped and numbers need not be finite. So a value is kept as
//! the text that stands in the line, which is also what is compared.

use std::io;

use super::error::LogError;

/// The name of the file.
pub const DETAIL_FILE: &str = "mlperf_log_detail.txt";
const MARK: &str = ":::MLLOG {\"key\": \"";
const VALUE: &str = "\", \"value\": ";
const TIME: &str = ", \"time_ms\": ";

/// Content of an official detail log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DetailLog {
    entries: Vec<Logged>,
    errors: u64,
    warnings: u64,
}

/// One line of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Logged {
    pub(super) key: String,
    pub(super) value: String,
    pub(super) line: usize,
}

impl DetailLog {
    /// Reads the lines of the file.
    ///
    /// # Errors
    /// They cannot be read, one is not of the form of the log, or there is none.
    pub fn read(lines: impl Iterator<Item = io::Result<String>>) -> Result<DetailLog, LogError> {
        let mut log = DetailLog::default();
        for (line_no, line) in (1..).zip(lines) {
            let line = line.map_err(|error| LogError::new(DETAIL_FILE, line_no, error.to_string()))?;
            let (key, value, metadata) = parts(&line)
                .ok_or_else(|| LogError::new(DETAIL_FILE, line_no, "this is not a whole line of a detail log"))?;
            log.errors += u64::from(metadata.contains("\"is_error\": true"));
            log.warnings += u64::from(metadata.contains("\"is_warning\": true"));
            log.entries.push(Logged { key: key.to_owned(), value: value.to_owned(), line: line_no });
        }
        if log.entries.is_empty() {
            return Err(LogError::new(DETAIL_FILE, 0, "there is nothing in it"));
        }
        Ok(log)
    }

    /// Lines that are marked as errors.
    pub(super) fn errors(&self) -> u64 {
        self.errors
    }

    /// Lines that are marked as warnings.
    pub(super) fn warnings(&self) -> u64 {
        self.warnings
    }

    /// All lines with this key, in order.
    pub(super) fn all<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a Logged> + 'a {
        self.entries.iter().filter(move |entry| entry.key == key)
    }

    /// All lines whose key begins like this, in order.
    pub(super) fn beginning<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = &'a Logged> + 'a {
        self.entries.iter().filter(move |entry| entry.key.starts_with(prefix))
    }

    /// The last line with this key.
    pub(super) fn last(&self, key: &str) -> Option<&Logged> {
        self.entries.iter().rev().find(|entry| entry.key == key)
    }

    /// The whole number of the last line with this key.
    pub(super) fn number<T: std::str::FromStr>(&self, key: &str) -> Option<T> {
        self.last(key)?.value.parse().ok()
    }

    /// The whole number of the last line with this key, which the log must have.
    pub(super) fn needed<T: std::str::FromStr>(&self, key: &str) -> Result<T, LogError> {
        let entry = self.last(key).ok_or_else(|| LogError::new(DETAIL_FILE, 0, format!("it has no {key}")))?;
        let why = || format!("{key} = {} is not a whole number of its kind", entry.value);
        entry.value.parse().map_err(|_| LogError::new(DETAIL_FILE, entry.line, why()))
    }

    /// The text of the last line with this key, without its quotation marks.
    pub(super) fn text(&self, key: &str) -> Option<&str> {
        let value = self.last(key)?.value.as_str();
        Some(value.strip_prefix('"').and_then(|value| value.strip_suffix('"')).unwrap_or(value))
    }

    /// The results of the performance phase, from `result_validity` to `num_errors`; empty without one.
    pub(super) fn results(&self) -> Vec<(String, String)> {
        let from = self.entries.iter().position(|entry| entry.key == "result_validity").unwrap_or(self.entries.len());
        let is_result = |key: &str| ["result_", "early_stopping_", "num_errors"].iter().any(|p| key.starts_with(p));
        let entries = self.entries[from..].iter().filter(|entry| is_result(&entry.key));
        entries.map(|entry| (entry.key.clone(), entry.value.clone())).collect()
    }
}

/// Key, value, and what follows the value.
fn parts(line: &str) -> Option<(&str, &str, &str)> {
    let (key, text) = line.strip_prefix(MARK)?.split_once(VALUE)?;
    let (value, metadata) = text.split_at(text.rfind(TIME)?);
    metadata.ends_with("}}").then_some((key, value, metadata))
}

#[cfg(test)]
mod tests {
    use std::io::BufRead as _;

    use super::*;

    const LINE: &str = ":::MLLOG {\"key\": \"sut_name\", \"value\": \"a \"b\", c\", \"time_ms\": 0.000012, \
        \"namespace\": \"mlperf::logging\", \"event_type\": \"POINT_IN_TIME\", \"metadata\": {\"is_error\": true, \
        \"is_warning\": false, \"file\": \"x\", \"line_no\": 1, \"pid\": 1, \"tid\": 1}}";

    #[test]
    fn a_value_is_the_text_that_stands_there() {
        let log = DetailLog::read(LINE.as_bytes().lines()).unwrap();
        assert_eq!(log.text("sut_name"), Some("a \"b\", c"));
        assert_eq!((log.errors(), log.warnings()), (1, 0));
    }

    #[test]
    fn a_line_that_is_cut_short_is_named() {
        let message = DetailLog::read(format!("{LINE}\n{}", &LINE[..150]).as_bytes().lines()).unwrap_err().to_string();
        assert_eq!(message, "mlperf_log_detail.txt, line 2: this is not a whole line of a detail log");
        assert!(DetailLog::read(b"".lines()).unwrap_err().to_string().contains("nothing in it"));
    }

    #[test]
    fn what_is_needed_and_is_not_a_number_is_named() {
        let log = DetailLog::read(LINE.as_bytes().lines()).unwrap();
        let messages = [log.needed::<u64>("sut_name"), log.needed::<u64>("other")].map(|r| r.unwrap_err().to_string());
        assert!(messages[0].contains("line 1: sut_name = ") && messages[1].contains("it has no other"), "{messages:?}");
    }
}
