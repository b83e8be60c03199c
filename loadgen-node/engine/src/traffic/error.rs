//! Why settings cannot be run.

use std::fmt::Display;

use thiserror::Error;

use crate::settings::Scenario;

/// Settings that have no run, found before anything is loaded or sent.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum PlanError {
    /// A value outside its range.
    #[error("{setting} = {value}: {why}")]
    Value {
        /// The setting's name.
        setting: &'static str,
        /// What was requested.
        value: String,
        /// Which values work.
        why: &'static str,
    },
    /// The library, or the part of it that a phase would use, has no samples.
    #[error("the query sample library has nothing to run: {count} is 0")]
    EmptyLibrary {
        /// Which count.
        count: &'static str,
    },
    /// The settings generate no query.
    #[error("nothing to issue: min_query_count and min_duration_ms (or the loaded set) allow no query in {scenario:?}")]
    NothingToIssue {
        /// The scenario.
        scenario: Scenario,
    },
    /// More samples than the engine accepts in one phase.
    #[error("the settings ask for more than {limit} samples in one phase (expected {expected:.3e})")]
    TooManySamples {
        /// The bound.
        limit: u64,
        /// What the settings come to.
        expected: f64,
    },
    /// The repeated sample is not in every loaded set.
    #[error("performance_issue_same_index = {index} does not fit a loaded set of {set_len} samples")]
    SameIndex {
        /// What was requested.
        index: u64,
        /// Length of the shortest set.
        set_len: usize,
    },
    /// Equal issue asks for more queries than there are unique samples.
    #[error("performance_issue_unique with sample_concatenate_permutation asks for more queries than the set has")]
    UniqueExhausted,
    /// A mode that this scenario does not have.
    #[error("FindPeakPerformance is not available for {scenario:?}")]
    FindPeak {
        /// The scenario.
        scenario: Scenario,
    },
}

impl PlanError {
    pub(crate) fn value(setting: &'static str, value: &dyn Display, why: &'static str) -> Self {
        Self::Value { setting, value: format!("{value}"), why }
    }
}
