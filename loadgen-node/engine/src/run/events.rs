//! Events of a run, for the detail log: keys and values, each with the world's time.
//!
//! A misbehaving SUT can cause one error per sample; equal errors are kept up to a limit and counted beyond it.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::value::Value;
use crate::world::TimeNs;

/// Most equal errors or warnings that are kept; more are only counted.
const KEPT_REPETITIONS: u64 = 100;

/// Severity of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// A fact without judgement.
    Info,
    /// Something that the user should look at.
    Warning,
    /// An error, which counts in `num_errors`.
    Error,
}

/// One entry of the detail log.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// When it happened.
    pub at: TimeNs,
    /// Key of the entry.
    pub key: Cow<'static, str>,
    /// Value of the entry.
    pub value: Value,
    /// Severity of the event.
    pub severity: Severity,
}

/// All entries of a run, in order.
#[derive(Clone, Debug, Default)]
pub struct EventLog {
    events: Vec<Event>,
    errors: u64,
    warnings: u64,
    repetitions: HashMap<String, u64>,
}

impl EventLog {
    /// The kept entries, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Event> {
        self.events.iter()
    }

    /// Number of errors, including those beyond the kept repetitions.
    pub fn errors(&self) -> u64 {
        self.errors
    }

    /// Number of warnings, including those beyond the kept repetitions.
    pub fn warnings(&self) -> u64 {
        self.warnings
    }

    /// Adds an entry that is a fact.
    pub fn info(&mut self, at: TimeNs, key: &'static str, value: impl Into<Value>) {
        self.events.push(Event { at, key: key.into(), value: value.into(), severity: Severity::Info });
    }

    /// Adds a warning, with key `warning_generic_message`.
    pub fn warning(&mut self, at: TimeNs, text: impl Into<String>) {
        self.warnings += 1;
        self.add_text(at, "warning_generic_message", text.into(), Severity::Warning);
    }

    /// Adds an error, with key `error_runtime`.
    pub fn error(&mut self, at: TimeNs, text: impl Into<String>) {
        self.errors += 1;
        self.add_text(at, "error_runtime", text.into(), Severity::Error);
    }

    fn add_text(&mut self, at: TimeNs, key: &'static str, text: String, severity: Severity) {
        let repetitions = self.repetitions.entry(text.clone()).or_default();
        *repetitions += 1;
        if *repetitions <= KEPT_REPETITIONS {
            self.events.push(Event { at, key: key.into(), value: Value::Text(text), severity });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_errors_are_all_counted_but_not_all_kept() {
        let mut log = EventLog::default();
        for i in 0..1_000 {
            log.error(TimeNs(i), "the same");
        }
        log.error(TimeNs(1_000), "another");
        assert_eq!(log.errors(), 1_001);
        assert_eq!(log.iter().count() as u64, KEPT_REPETITIONS + 1);
    }
}
