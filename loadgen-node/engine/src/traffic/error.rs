//! Why settings cannot be run: the errors of making a plan.

use std::fmt::Display;

use thiserror::Error;

use super::shape::Expected;

/// Why settings cannot be run; found before anything is loaded or sent.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum PlanError {
    /// A value is outside its range.
    #[error("{setting} = {value}: {why}")]
    Value {
        /// Name of the setting.
        setting: &'static str,
        /// The requested value.
        value: String,
        /// Which values can be used.
        why: &'static str,
    },
    /// The library, or the part of it that a phase would use, has no samples.
    #[error("the query sample library has nothing to run: {count} is 0")]
    EmptyLibrary {
        /// Which count is 0.
        count: &'static str,
    },
    /// The settings generate no query.
    #[error("nothing to issue: min_query_count and min_duration_ms (or the loaded set) allow no query in {scenario}")]
    NothingToIssue {
        /// Name of the scenario.
        scenario: &'static str,
    },
    /// More samples than the engine accepts in one phase.
    #[error("the settings ask for more than {limit} samples in one phase (expected {expected:.3e})")]
    TooManySamples {
        /// Most samples of one phase.
        limit: u64,
        /// Samples that the settings come to.
        expected: f64,
    },
    /// The repeated sample is not in every loaded set.
    #[error("performance_issue_same_index = {index} does not fit a loaded set of {set_len} samples")]
    SameIndex {
        /// The requested position in the loaded set.
        index: u64,
        /// Length of the shortest set.
        set_len: usize,
    },
    /// Equal issue asks for more queries than there are unique samples.
    #[error("performance_issue_unique with sample_concatenate_permutation asks for more queries than the set has")]
    UniqueExhausted,
    /// The scenario has no search for the peak.
    #[error("FindPeakPerformance is not available for {scenario}: {why}")]
    FindPeak {
        /// Name of the scenario.
        scenario: &'static str,
        /// Reason, with the alternative where there is one.
        why: &'static str,
    },
}

impl PlanError {
    /// A value outside its range; `why` says which values work.
    pub fn value(setting: &'static str, value: &dyn Display, why: &'static str) -> Self {
        Self::Value { setting, value: format!("{value}"), why }
    }

    /// A search for the peak in a scenario that has no rate to search for.
    pub(crate) fn no_peak(scenario: &'static str, expected: Expected) -> Self {
        let why = match expected {
            Expected::SampleRate => {
                "all its samples are due at once, so PerformanceOnly measures the highest rate already"
            }
            Expected::Latency => {
                "its queries wait for answers, so PerformanceOnly measures how fast the SUT answers already"
            }
            Expected::QueryRate => "it has no rate to search for",
        };
        Self::FindPeak { scenario, why }
    }
}
