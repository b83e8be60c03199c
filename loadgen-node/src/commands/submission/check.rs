//! `submission check`: a tree by our check, and by the official one where a clone of its repository is given.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, anyhow, ensure};
use loadgen::conf::rules::{RULES, Rules};
use lon_proto::text::on_lines;

use super::super::io::{print_in, print_text};
use crate::cli::Format;
use crate::submission::check;
use crate::submission::checked::Submission;
use lon_run::exit::{Exit, OrExit as _, Outcome};
use lon_run::outputs::documents::submission_check::{NO_CLONE, OfficialChecker};

/// The folder of the official checker in a clone.
const CHECKER: &str = "tools/submission";
/// Its word for a good tree.
const LOOKS_OK: &str = "SUMMARY: submission looks OK";
/// Most lines of the checker's output that are shown.
const MOST_LINES: usize = 12;

/// A tree with what it is to be held against.
pub(super) struct TreeCheck {
    tree: PathBuf,
    /// The round that was asked for. `None`: that of the submission's file.
    rules: Option<&'static Rules>,
    /// The folder of the official checker.
    checker: Option<PathBuf>,
}

impl TreeCheck {
    /// Paths are from where the command was typed.
    pub(super) fn new(tree: &Path, round: Option<&str>, mlcommons: Option<&Path>) -> Outcome<TreeCheck> {
        let rules = round.map(Rules::named).transpose().context("--rules").or_exit(Exit::Usage)?;
        let build = "`loadgen-node submission build FILE --out TREE` makes the folder";
        let tree = folder(tree, build).or_exit(Exit::Usage)?;
        let clone = "give the folder that `git clone https://github.com/mlcommons/inference` made";
        let checker = mlcommons.map(|path| folder(&path.join(CHECKER), clone).context("--mlcommons"));
        Ok(TreeCheck { tree, rules, checker: checker.transpose().or_exit(Exit::Usage)? })
    }
}

/// The whole path of a folder. `remedy`: how a person gets it.
fn folder(path: &Path, remedy: &str) -> anyhow::Result<PathBuf> {
    let path_text = on_lines(&path.display().to_string());
    let whole = path.canonicalize().with_context(|| format!("cannot find {path_text}: {remedy}"))?;
    ensure!(whole.is_dir(), "{path_text} is a file, and a folder belongs here: {remedy}");
    Ok(whole)
}

/// Looks at the tree. What is wrong makes exit code 3.
pub(super) fn check(tree_check: &TreeCheck, submission: Option<&Submission>, form: Format) -> Outcome {
    let TreeCheck { tree, rules: named_rules, checker } = tree_check;
    let of_file = submission.map(|submission| submission.rules);
    let rules = named_rules.or(of_file).with_context(no_rules).or_exit(Exit::Usage)?;
    if let Some(other) = of_file.filter(|other| other.round.name != rules.round.name) {
        let (round, other) = (rules.round.name, other.round.name);
        return Err(anyhow!("--rules {round}: the file has round {other}; leave --rules out")).or_exit(Exit::Usage);
    }
    let mut report = check::check(tree, rules, submission).or_exit(Exit::Usage)?;
    match checker {
        None => report.official_not_asked = Some(NO_CLONE.to_owned()),
        // It has no guard of its own.
        Some(_) if report.official_not_asked.is_some() => {}
        Some(checker) => report.official = Some(official(checker, tree, rules.round.name).or_exit(Exit::Usage)?),
    }
    print_in(form, &report, || print_text(&report.text()), || report.table())?;
    Ok(if report.is_good() { Exit::Ok } else { Exit::Invalid })
}

/// The error where nothing names the round.
fn no_rules() -> String {
    let rounds: Vec<&str> = RULES.iter().map(|rules| rules.round.name).collect();
    format!("give --rules ROUND ({}), or --file FILE with the file of the submission", rounds.join(", "))
}

/// Starts the official checker.
fn official(checker: &Path, tree: &Path, round: &str) -> anyhow::Result<OfficialChecker> {
    let place = tempfile::tempdir().context("cannot make a folder for the official checker's table")?;
    let done = Command::new("python3")
        .args(["-m", "submission_checker.main", "--version", round, "--input"])
        .arg(tree)
        .arg("--csv")
        .arg(place.path().join("summary.csv"))
        .current_dir(checker)
        // Nothing is written into the clone.
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
        .context("cannot start python3 for the official checker")?;
    let text = [done.stdout, done.stderr].map(|bytes| on_lines(&String::from_utf8_lossy(&bytes))).concat();
    let is_missing = text.contains("No module named");
    ensure!(!is_missing, "the official checker does not start: {}", text.lines().last().unwrap_or_default());
    Ok(checker_verdict(&text, done.status.success()))
}

/// Reads the verdict of the official checker from its output.
fn checker_verdict(text: &str, is_success: bool) -> OfficialChecker {
    let accepted = is_success && text.contains(LOOKS_OK);
    let results = text.lines().filter_map(|line| line.split_once(" Results=")?.1.trim().parse::<u64>().ok());
    let results: Vec<u64> = results.collect();
    let mut lines: Vec<&str> = text.lines().filter(|line| line.contains("ERROR")).take(MOST_LINES).collect();
    if lines.is_empty() {
        lines = text.lines().rev().take(MOST_LINES).collect();
        lines.reverse();
    }
    OfficialChecker {
        accepted,
        results: results.iter().copied().reduce(|one, other| one + other),
        said: lines.into_iter().map(str::to_owned).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_exit_code_must_both_be_good() {
        let text = "[x INFO] Network Results=2\n[x INFO] Open Results=0\n[x INFO] SUMMARY: submission looks OK\n";
        let good = checker_verdict(text, true);
        assert_eq!((good.accepted, good.results), (true, Some(2)));
        assert!(!checker_verdict(text, false).accepted && !checker_verdict("Traceback", true).accepted);
        let bad = checker_verdict("a\n[x ERROR] seeds\nSUMMARY: submission has errors\n", true);
        assert_eq!((bad.accepted, bad.said, bad.results), (false, vec!["[x ERROR] seeds".to_owned()], None));
    }
}
