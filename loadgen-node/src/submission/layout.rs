//! Where the rounds have the files of a submission. Rounds up to v5.1 keep measurements and compliance tests apart from
//! results; from v6.0 on all of a scenario is in one folder.
//!
//! Source: `submission_checker/constants.py` of mlcommons/inference b66003e1.

use std::path::{Path, PathBuf};

use super::checked::{Entry, Submission};
use loadgen::settings::Scenario;

/// The folders of one submitter.
pub(super) struct Layout<'a> {
    submission: &'a Submission,
    /// `DIVISION/SUBMITTER` in the tree.
    above: PathBuf,
}

impl<'a> Layout<'a> {
    pub(super) fn new(submission: &'a Submission, tree: &Path) -> Layout<'a> {
        let above = tree.join(submission.division.name()).join(&submission.submitter);
        Layout { submission, above }
    }

    /// Whether a round keeps measurements and compliance tests apart.
    fn keeps_apart(&self) -> bool {
        self.submission.rules.round.name < "v6.0"
    }

    /// The description of the system.
    pub(super) fn system(&self) -> PathBuf {
        self.above.join("systems").join(format!("{}.json", self.submission.system))
    }

    /// A file of the documentation.
    pub(super) fn documentation(&self, name: &str) -> PathBuf {
        self.above.join("documentation").join(name)
    }

    /// The folder for the code of a benchmark.
    pub(super) fn code(&self, entry: &Entry) -> PathBuf {
        self.above.join(if self.keeps_apart() { "code" } else { "src" }).join(&entry.folder)
    }

    /// The logs and scores of a scenario.
    pub(super) fn results(&self, entry: &Entry, scenario: Scenario) -> PathBuf {
        self.of("results", entry, scenario)
    }

    /// The compliance tests of a scenario.
    pub(super) fn compliance(&self, entry: &Entry, scenario: Scenario) -> PathBuf {
        self.of(if self.keeps_apart() { "compliance" } else { "results" }, entry, scenario)
    }

    /// `user.conf`, `README.md` and the measurements of a scenario.
    pub(super) fn measurements(&self, entry: &Entry, scenario: Scenario) -> PathBuf {
        self.of(if self.keeps_apart() { "measurements" } else { "results" }, entry, scenario)
    }

    /// The name of the measurements' file.
    pub(super) fn measurements_file(&self, scenario: Scenario) -> String {
        match self.keeps_apart() {
            true => format!("{}_{}.json", self.submission.system, scenario.name()),
            false => "measurements.json".to_owned(),
        }
    }

    fn of(&self, part: &str, entry: &Entry, scenario: Scenario) -> PathBuf {
        self.above.join(part).join(&self.submission.system).join(&entry.folder).join(scenario.name())
    }
}
