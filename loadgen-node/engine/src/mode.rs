//! The mode of a test, the sizes of its sample library, and its seeds.

use serde::{Deserialize, Serialize};

/// Mode of a test: the phases that it consists of. The order is that of the official enumeration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Mode {
    /// Accuracy phases, then the performance phase.
    SubmissionRun,
    /// Every sample of the library once, all answers logged.
    AccuracyOnly,
    /// The timed phase alone.
    #[default]
    PerformanceOnly,
    /// A search for the highest rate that meets the latency target.
    FindPeakPerformance,
}

impl Mode {
    /// All modes, in the order of the official enumeration.
    pub const ALL: [Mode; 4] =
        [Self::SubmissionRun, Self::AccuracyOnly, Self::PerformanceOnly, Self::FindPeakPerformance];

    /// The official name, without blanks.
    pub fn name(self) -> &'static str {
        match self {
            Self::SubmissionRun => "SubmissionRun",
            Self::AccuracyOnly => "AccuracyOnly",
            Self::PerformanceOnly => "PerformanceOnly",
            Self::FindPeakPerformance => "FindPeakPerformance",
        }
    }

    /// The mode with this official name.
    pub fn from_name(name: &str) -> Option<Mode> {
        Self::ALL.into_iter().find(|mode| mode.name() == name)
    }

    /// Returns true when a test of this mode has accuracy phases.
    pub fn has_accuracy(self) -> bool {
        matches!(self, Self::SubmissionRun | Self::AccuracyOnly)
    }

    /// Returns true when a test of this mode has a performance phase.
    pub fn has_performance(self) -> bool {
        !matches!(self, Self::AccuracyOnly)
    }
}

/// The sizes of the query sample library (QSL), as it reports them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Qsl {
    /// Number of samples in the library.
    pub total: u64,
    /// Number of samples that fit in memory during a performance phase.
    pub performance: u64,
}

/// The three seeds that fix the traffic of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seeds {
    /// The setting `qsl_rng_seed`: which samples are loaded, in which order.
    pub qsl: u64,
    /// The setting `sample_index_rng_seed`: which samples a query has.
    pub sample_index: u64,
    /// The setting `schedule_rng_seed`: when queries are due.
    pub schedule: u64,
}
