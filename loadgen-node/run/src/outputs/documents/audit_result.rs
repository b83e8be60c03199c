//! `audit_result.json`: a compliance test on finished runs, row by row. `audit --json` prints the same.

use std::fmt::Write as _;

use lon_proto::text::on_one_line;
use serde::{Deserialize, Serialize};

use crate::audit::{AuditCheck, CheckOutcome, CheckRule, Findings};
use crate::outputs::tables::table::Table;

/// Name beside the files of a submission.
pub const FILE: &str = "audit_result.json";
/// The version of [`AuditResult`].
const SCHEMA: u32 = 1;
/// Columns of a row's name and of its outcome in the table for the screen.
const NAME: usize = 40;
const OUTCOME: usize = 9;

/// The whole file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct AuditResult {
    /// Version of this form: 1.
    #[cfg_attr(test, schemars(extend("const" = SCHEMA)))]
    pub schema: u32,
    /// The compliance test: `TEST01`, `TEST04`, ...
    pub test: String,
    /// Says that this is no official result.
    pub unofficial: String,
    /// The scenario of the run that was audited.
    pub scenario: String,
    /// Outcome of the official script for these folders.
    pub official: CheckOutcome,
    /// Outcome of all rows, those of this program included.
    pub verdict: CheckOutcome,
    /// Number of rows that are unchecked.
    pub unchecked: usize,
    /// Folder of the reference, as it was given; null where the test needs none.
    pub reference: Option<String>,
    /// Folder of the accuracy run; null where the test needs none.
    pub accuracy_run: Option<String>,
    /// Folder of the run that was audited, as it was given.
    pub run: String,
    /// Every row: those of the official script first.
    pub checks: Vec<AuditCheck>,
}

/// The folders of an audit, as they were given.
#[derive(Clone, Debug, Default)]
pub struct Folders {
    /// Folder of the reference.
    pub reference: Option<String>,
    /// Folder of the accuracy run.
    pub accuracy_run: Option<String>,
    /// Folder of the run that is audited.
    pub run: String,
}

impl AuditResult {
    /// The document of what was found in these folders.
    pub fn new(findings: &Findings, folders: Folders) -> AuditResult {
        let printable_check = |check: &AuditCheck| AuditCheck {
            wanted: on_one_line(&check.wanted),
            found: on_one_line(&check.found),
            ..check.clone()
        };
        let unchecked = findings.checks.iter().filter(|check| check.outcome == CheckOutcome::Unchecked).count();
        AuditResult {
            schema: SCHEMA,
            test: findings.test.to_string(),
            unofficial: "results of this tool are unverified and are not official MLPerf results".to_owned(),
            scenario: on_one_line(&findings.scenario),
            official: findings.official(),
            verdict: findings.verdict(),
            unchecked,
            reference: folders.reference,
            accuracy_run: folders.accuracy_run,
            run: folders.run,
            checks: findings.checks.iter().map(printable_check).collect(),
        }
    }

    /// Returns true when the verdict is a pass, and so is the outcome of the official script, where the test has one.
    pub fn passed(&self) -> bool {
        let official = if self.has_script() { self.official } else { CheckOutcome::Passed };
        [official, self.verdict] == [CheckOutcome::Passed; 2]
    }

    /// Returns true when there is an official script for the test.
    fn has_script(&self) -> bool {
        self.checks.iter().any(|check| check.rule == CheckRule::Official)
    }

    /// Every row, and the two verdicts.
    pub fn table(&self) -> Table {
        let mut table = Table::new(["rule", "check", "outcome", "wanted", "found"]);
        for check in &self.checks {
            let rule = if check.rule == CheckRule::Official { "official" } else { "ours" };
            table.row([rule, &check.name, word(check.outcome), &check.wanted, &check.found]);
        }
        table.row(["official", "verdict of the official script", word(self.official), "", ""]);
        table.row(["ours", "verdict of all rows", word(self.verdict), "", ""]);
        table
    }

    /// The text for the screen.
    pub fn text(&self) -> String {
        let mut text = format!("{} on a run of {}\n", self.test, self.scenario);
        for (rule, title) in
            [(CheckRule::Official, "Rules of the official script"), (CheckRule::Ours, "Rules of this program")]
        {
            if rule == CheckRule::Official && !self.has_script() {
                text.push_str("\nThere is no official script for this test.\n");
                continue;
            }
            // Writing to a String cannot fail.
            let _ = writeln!(text, "\n{title}");
            for check in self.checks.iter().filter(|check| check.rule == rule) {
                let _ = writeln!(text, "{}", row(check));
            }
        }
        let unchecked = match self.unchecked {
            0 => String::new(),
            1 => "; 1 row is unchecked".to_owned(),
            count => format!("; {count} rows are unchecked"),
        };
        let [official, ours] = [self.official, self.verdict].map(word);
        let _ = writeln!(text, "\nOfficial script  {official}\nAll rules        {ours}{unchecked}");
        text
    }
}

fn row(check: &AuditCheck) -> String {
    let outcome = word(check.outcome);
    let requirement = match check.outcome {
        CheckOutcome::Passed => String::new(),
        _ => format!(" (wanted: {})", check.wanted),
    };
    format!("  {outcome:<OUTCOME$}  {:<NAME$}  {}{requirement}", check.name, check.found)
}

fn word(outcome: CheckOutcome) -> &'static str {
    match outcome {
        CheckOutcome::Passed => "pass",
        CheckOutcome::Failed => "FAIL",
        CheckOutcome::Unchecked => "unchecked",
    }
}

#[cfg(test)]
mod tests {
    use super::super::reads_back;
    use super::*;

    fn check(rule: CheckRule, outcome: CheckOutcome, name: &str) -> AuditCheck {
        let [requirement, value] = ["this", "that"].map(str::to_owned);
        AuditCheck { name: name.to_owned(), rule, outcome, wanted: requirement, found: value }
    }

    #[test]
    fn the_table_has_both_verdicts_and_what_was_wanted() {
        let document = AuditResult {
            schema: SCHEMA,
            test: "TEST01".to_owned(),
            unofficial: String::new(),
            scenario: "Server".to_owned(),
            official: CheckOutcome::Passed,
            verdict: CheckOutcome::Failed,
            unchecked: 1,
            reference: Some("a".to_owned()),
            accuracy_run: None,
            run: "b".to_owned(),
            checks: vec![
                check(CheckRule::Official, CheckOutcome::Passed, "rates"),
                check(CheckRule::Ours, CheckOutcome::Failed, "settings"),
                check(CheckRule::Ours, CheckOutcome::Unchecked, "models"),
            ],
        };
        let json = reads_back(&document);
        assert_eq!((&json["official"], &json["checks"][1]["rule"]), (&"passed".into(), &"ours".into()));
        let text = document.text();
        assert!(text.contains("\n  pass       rates ") && text.contains("that (wanted: this)\n"), "{text}");
        let end = "\nOfficial script  pass\nAll rules        FAIL; 1 row is unchecked\n";
        assert!(text.ends_with(end) && !document.passed(), "{text}");
        let ours = check(CheckRule::Ours, CheckOutcome::Passed, "rates");
        let alone = AuditResult { official: CheckOutcome::Unchecked, checks: vec![ours], ..document.clone() };
        let alone = AuditResult { verdict: CheckOutcome::Passed, ..alone };
        assert!(alone.passed() && alone.text().contains("\nThere is no official script"), "{}", alone.text());
        let text = AuditResult { unchecked: 2, ..document }.text();
        assert!(text.ends_with("; 2 rows are unchecked\n"), "{text}");
    }
}
