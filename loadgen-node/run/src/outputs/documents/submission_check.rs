//! Document that `submission check --json` prints: the faults of a tree of submissions.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::outputs::tables::table::Table;

/// The version of [`SubmissionCheck`].
pub const SCHEMA: u32 = 1;
/// Why the official checker was not asked.
pub const NO_CLONE: &str = "give a clone of mlcommons/inference with --mlcommons";
/// Why it is not asked of such a tree.
pub const NO_FILES: &str = "it would wait for a pipe, or read a file that is far too long";
/// Statement of every check about itself.
pub const UNOFFICIAL: &str = "this check is not the official submission checker, which is the judge";

/// The whole document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SubmissionCheck {
    /// Version of this form: 1.
    #[cfg_attr(test, schemars(extend("const" = SCHEMA)))]
    pub schema: u32,
    /// Says that this is not the official checker.
    pub unofficial: String,
    /// The folder, as it was given.
    pub tree: String,
    /// The round by whose rules it was looked at: `v5.0`.
    pub round: String,
    /// True when the tree says that its runs were shortened: then lengths of runs and sizes of datasets are unchecked.
    pub rehearsal: bool,
    /// Benchmarks and scenarios with a folder for results, of all systems.
    pub results: usize,
    /// Faults of the tree; empty when none was found.
    pub findings: Vec<TreeFinding>,
    /// Advice on contents that no official text forbids, and that may not be meant.
    #[serde(default)]
    pub advice: Vec<TreeFinding>,
    /// Parts that could not be checked.
    pub unchecked: Vec<String>,
    /// Outcome of the official checker; null where it was not asked.
    pub official: Option<OfficialChecker>,
    /// Why it was not asked; null where it was.
    #[serde(default)]
    pub official_not_asked: Option<String>,
}

/// One thing that is said of a file or folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TreeFinding {
    /// The file or folder, from the top of the tree.
    pub path: String,
    /// Statement about the file or folder, as the end of a sentence that begins with its name.
    pub what: String,
}

/// Outcome of the official checker on the same tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct OfficialChecker {
    /// True when the checker ends with "submission looks OK".
    pub accepted: bool,
    /// Number of results that the checker counted; null where it did not come so far.
    pub results: Option<u64>,
    /// Its lines on errors, or its last lines where it has none.
    pub said: Vec<String>,
}

impl SubmissionCheck {
    /// Returns true when neither checker finds a fault.
    pub fn is_good(&self) -> bool {
        self.findings.is_empty() && self.official.as_ref().is_none_or(|official| official.accepted)
    }

    /// A row for each fault, each piece of advice, what could not be looked at, and what the official checker says.
    pub fn table(&self) -> Table {
        let mut table = Table::new(["checker", "finding", "path", "what"]);
        for TreeFinding { path, what } in &self.findings {
            table.row(["this", "wrong", path, what]);
        }
        for TreeFinding { path, what } in &self.advice {
            table.row(["this", "advice", path, what]);
        }
        self.unchecked.iter().for_each(|what| table.row(["this", "unchecked", "", what]));
        let Some(official) = &self.official else { return table };
        let finding = if official.accepted { "accepted" } else { "not accepted" };
        official.said.iter().for_each(|line| table.row(["official", finding, "", line]));
        table
    }

    /// The text for the screen.
    pub fn text(&self) -> String {
        let SubmissionCheck { tree, round, results, .. } = self;
        // Writing to a String cannot fail.
        let mut text = format!("{tree}, round {round}, results: {results}\n");
        if self.rehearsal {
            text += "A rehearsal, not to be submitted: lengths of runs and sizes of datasets are unchecked.\n";
        }
        for (word, findings) in [("WRONG", &self.findings), ("advice", &self.advice)] {
            let mut above = None;
            for TreeFinding { path, what } in findings {
                if above != Some(path) {
                    let _ = writeln!(text, "{word} {path}");
                }
                above = Some(path);
                let _ = writeln!(text, "      {what}");
            }
        }
        for what in &self.unchecked {
            let _ = writeln!(text, "unchecked: {what}");
        }
        let ours = match self.findings.len() {
            0 => "no fault found".to_owned(),
            1 => "1 fault".to_owned(),
            count => format!("{count} faults"),
        };
        let _ = writeln!(text, "\nThis check        {ours}");
        let Some(official) = &self.official else {
            let why = self.official_not_asked.as_deref().unwrap_or(NO_CLONE);
            let _ = writeln!(text, "Official checker  not asked: {why}");
            return text;
        };
        let verdict = if official.accepted { "submission looks OK" } else { "refuses it" };
        let results = official.results.map(|count| format!(", results: {count}")).unwrap_or_default();
        let _ = writeln!(text, "Official checker  {verdict}{results}");
        for line in official.said.iter().filter(|_| !official.accepted) {
            let _ = writeln!(text, "  {line}");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::super::reads_back;
    use super::*;

    #[test]
    fn both_checkers_are_told() {
        let good = SubmissionCheck {
            schema: SCHEMA,
            unofficial: UNOFFICIAL.to_owned(),
            tree: "T".to_owned(),
            round: "v5.0".to_owned(),
            rehearsal: true,
            results: 2,
            findings: Vec::new(),
            advice: vec![TreeFinding { path: "b".to_owned(), what: "has the number 2".to_owned() }],
            unchecked: vec!["power".to_owned()],
            official: None,
            official_not_asked: None,
        };
        let text = good.text();
        assert!(text.starts_with("T, round v5.0, results: 2\nA rehearsal") && good.is_good(), "{text}");
        assert!(
            text.contains("\nadvice b\n      has the number 2\nunchecked: power\n")
                && text.contains("not asked: give a clone"),
            "{text}"
        );
        let finding = TreeFinding { path: "a".to_owned(), what: "is empty".to_owned() };
        let official = OfficialChecker { accepted: false, results: Some(1), said: vec!["ERROR x".to_owned()] };
        let bad = SubmissionCheck { findings: vec![finding], official: Some(official), ..good };
        assert_eq!(reads_back(&bad)["official"]["results"], 1);
        let text = bad.text();
        assert!(text.contains("WRONG a\n      is empty\n") && text.contains("This check        1 fault\n"), "{text}");
        assert!(text.ends_with("refuses it, results: 1\n  ERROR x\n") && !bad.is_good(), "{text}");
    }
}
