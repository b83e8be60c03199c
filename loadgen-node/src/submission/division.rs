//! The division that a submission is for.

use lon_run::division::Division;

/// A division of MLPerf that results over a network can be submitted to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SubmissionDivision {
    /// The Network division.
    Network,
    /// MLPerf's Open division: models, scores and scenarios are the submitter's.
    Open,
}

impl SubmissionDivision {
    /// As the submission's file and the tree have it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            SubmissionDivision::Network => Division::Network.name(),
            SubmissionDivision::Open => "open",
        }
    }

    /// The division whose rules its runs have to keep.
    pub(crate) fn of_runs(self) -> Division {
        match self {
            SubmissionDivision::Network => Division::Network,
            SubmissionDivision::Open => Division::None,
        }
    }
}
