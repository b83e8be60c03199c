//! The findings of an audit: its rows, and the files of the official script.

use super::AuditTest;
use super::check::{AuditCheck, CheckOutcome, CheckRule, outcome_of};

/// All rows of an audit.
#[derive(Clone, Debug)]
pub struct Findings {
    /// The audit that was made.
    pub test: AuditTest,
    /// The scenario of the test.
    pub scenario: String,
    /// The rows: those of the script first.
    pub checks: Vec<AuditCheck>,
    /// The files that the official script writes, with their text.
    pub files: Vec<TestFile>,
}

/// A file that a submission has in the folder of the audit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestFile {
    /// The name in that folder.
    pub name: &'static str,
    /// The text of the file.
    pub text: String,
}

impl TestFile {
    pub(super) fn new(name: &'static str, text: &str) -> TestFile {
        TestFile { name, text: text.to_owned() }
    }
}

impl Findings {
    pub(super) fn new(test: AuditTest, scenario: &str, checks: Vec<AuditCheck>, files: Vec<TestFile>) -> Findings {
        Findings { test, scenario: scenario.to_owned(), checks, files }
    }

    /// Returns the verdict of the official script.
    pub(crate) fn official(&self) -> CheckOutcome {
        outcome_of(self.checks.iter().filter(|check| check.rule == CheckRule::Official))
    }

    /// Returns the verdict of the rows of the script and of this program together.
    pub(crate) fn verdict(&self) -> CheckOutcome {
        outcome_of(self.checks.iter())
    }
}
