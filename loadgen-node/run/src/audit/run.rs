//! Facts of a finished run whose folder is audited.

use loadgen::settings::{Profile, Scenario, TestSettings};
use lon_proto::sample::DType;

use super::answers::AnswerLog;
use super::detail::Detail;

/// A run, from its folder.
#[derive(Clone, Debug)]
pub struct AuditedRun {
    /// The detail log.
    pub detail: Detail,
    /// The text of the summary file.
    pub summary: String,
    /// The accuracy log; none when the folder has no such file.
    pub answers: Option<AnswerLog>,
    /// Facts that only folders of this program have.
    pub own: Option<OwnFacts>,
}

/// The facts in the documents of a folder of this program.
#[derive(Clone, Debug, Default)]
pub struct OwnFacts {
    /// The settings as they were requested, with all digits.
    pub(crate) settings: TestSettings,
    /// The rules by which traffic was drawn; none when the round is not known.
    pub(crate) profile: Option<Profile>,
    /// The benchmark's name.
    pub(crate) benchmark: String,
    /// The type of the first output of the model; none when it is not known, or nodes differ.
    pub(crate) dtype: Option<DType>,
    /// The name and SHA-256 of the model of each node, in order.
    pub(crate) models: Vec<String>,
    /// The dataset: a path or a name.
    pub(crate) dataset: String,
    /// SHA-256 of its list of sums; none when it has none.
    pub(crate) sums: Option<String>,
    /// The score of its answers; none when it has none.
    pub(crate) score: Option<RunScore>,
    /// Files that are not those that the run wrote, by their SHA-256.
    pub(crate) altered: Vec<String>,
}

/// The score of a run's answers.
#[derive(Clone, Debug, PartialEq)]
pub struct RunScore {
    /// The metric's name.
    pub(crate) metric: String,
    /// The score, in the unit of the metric.
    pub(crate) value: f64,
    /// The number of samples that were scored.
    pub(crate) samples: usize,
    /// True when the score is a rate of errors: less is better.
    pub(crate) is_error: bool,
}

/// The accuracy run of the reference.
#[derive(Clone, Debug)]
pub struct AccuracyRunFacts {
    /// The answers of all samples.
    pub answers: AnswerLog,
    /// Its detail log, where it is there.
    pub detail: Option<Detail>,
    /// Facts that only folders of this program have.
    pub own: Option<OwnFacts>,
}

impl AuditedRun {
    /// The name of the scenario.
    pub(super) fn scenario(&self) -> &str {
        self.detail.text("effective_scenario").unwrap_or_default()
    }

    /// All samples were one query.
    pub(super) fn is_one_query(&self) -> bool {
        Scenario::from_name(self.scenario()).is_some_and(Scenario::is_one_query)
    }
}
