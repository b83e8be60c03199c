//! The purpose of a run of a submission.

use lon_run::audit::AuditTest;

/// The purpose of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Every sample once, to be scored.
    Accuracy,
    /// The run that is measured and submitted.
    Performance,
    /// A performance run with the settings of a compliance test.
    Compliance(AuditTest),
}

impl Kind {
    /// The runs that every result has, in their order.
    pub(super) fn of_result() -> [Kind; 2] {
        [Kind::Accuracy, Kind::Performance]
    }

    /// The name of the run folder.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::Accuracy => "accuracy",
            Kind::Performance => "performance",
            Kind::Compliance(test) => test.name(),
        }
    }
}
