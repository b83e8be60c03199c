//! Where the rounds have the files of a submission. Rounds up to v5.1 keep measurements and compliance tests apart from
//! results; from v6.0 on all of a scenario is in one folder.
//!
//! Source: `submission_checker/constants.py` of mlcommons/inference b66003e1.

use std::path::{Path, PathBuf};

/// Says at the top of the tree that it is none to submit.
pub(super) const REHEARSAL: &str = "REHEARSAL.md";

/// The folders of one system of a submitter. Those of a scenario have its name, which the checkers take in any case.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    system: String,
    /// `DIVISION/SUBMITTER` in the tree.
    above: PathBuf,
    /// True when the round keeps measurements and compliance tests apart.
    keeps_apart: bool,
}

impl Layout {
    /// `above`: the folder `DIVISION/SUBMITTER`; `round`: `v5.0`.
    pub(super) fn new(above: &Path, system: &str, round: &str) -> Layout {
        Layout { system: system.to_owned(), above: above.to_owned(), keeps_apart: round < "v6.0" }
    }

    /// The description of the system.
    pub(super) fn system(&self) -> PathBuf {
        self.above.join("systems").join(format!("{}.json", self.system))
    }

    /// A file of the documentation.
    pub(super) fn documentation(&self, name: &str) -> PathBuf {
        self.above.join("documentation").join(name)
    }

    /// The folder for the code of a benchmark, which is named by its folder.
    pub(super) fn code(&self, benchmark: &str) -> PathBuf {
        self.above.join(if self.keeps_apart { "code" } else { "src" }).join(benchmark)
    }

    /// The logs and scores of a scenario.
    pub(super) fn results(&self, benchmark: &str, scenario: &str) -> PathBuf {
        self.of("results", benchmark, scenario)
    }

    /// The compliance tests of a scenario.
    pub(super) fn compliance(&self, benchmark: &str, scenario: &str) -> PathBuf {
        self.of(if self.keeps_apart { "compliance" } else { "results" }, benchmark, scenario)
    }

    /// `user.conf`, `README.md` and the measurements of a scenario.
    pub(super) fn measurements(&self, benchmark: &str, scenario: &str) -> PathBuf {
        self.of(if self.keeps_apart { "measurements" } else { "results" }, benchmark, scenario)
    }

    /// The name of the measurements' file.
    pub(super) fn measurements_file(&self, scenario: &str) -> String {
        match self.keeps_apart {
            true => format!("{}_{}.json", self.system, scenario),
            false => "measurements.json".to_owned(),
        }
    }

    /// True where the checkers take a file of another name for it: any that begins with the name of the system.
    pub(super) fn is_measurements(&self, name: &str) -> bool {
        self.keeps_apart && name.starts_with(&self.system) && name.ends_with(".json")
    }

    fn of(&self, part: &str, benchmark: &str, scenario: &str) -> PathBuf {
        self.above.join(part).join(&self.system).join(benchmark).join(scenario)
    }
}
