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
    /// A text of a setting has a form that cannot be read.
    #[error("{setting} = {text} is not {reason}")]
    Form {
        /// Name of the setting.
        setting: &'static str,
        /// The requested text.
        text: String,
        /// The forms that are accepted.
        reason: String,
    },
    /// A setting beside the official ones does not belong to the scenario, or its value is outside its range.
    #[error("{scenario}: the setting {field} is {reason}")]
    Further {
        /// Name of the scenario.
        scenario: &'static str,
        /// Name of the setting in results.
        field: String,
        /// The reason against it.
        reason: String,
    },
    /// Arrivals follow a trace, and its due times were not given.
    #[error("the arrivals of trace:{file} were not read")]
    NoTrace {
        /// The file, with its options.
        file: String,
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
    /// The trace asks for a sample that is not loaded.
    #[error(
        "the trace asks for sample {index}, which is not among the {loaded} samples that are loaded: \
         performance_sample_count_override of the whole dataset loads them all"
    )]
    TraceSample {
        /// The index in the library.
        index: u32,
        /// Number of loaded samples.
        loaded: usize,
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

    /// A text that has another form.
    pub(crate) fn form(setting: &'static str, text: &str, reason: String) -> Self {
        Self::Form { setting, text: text.to_owned(), reason }
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
            Expected::MostQps => "it has no limit that a peak could keep; set target_latency",
            Expected::QueryRate | Expected::Bursts => {
                "its arrivals have rates of their own; give a process whose mean rate is target_qps, such as gamma:cv=3"
            }
        };
        Self::FindPeak { scenario, why }
    }
}
