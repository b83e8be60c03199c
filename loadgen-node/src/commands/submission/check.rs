//! `submission check`: a tree by our check, and by the official one where a clone of its repository is given.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, anyhow, ensure};
use loadgen::conf::rules::{RULES, Rules};
use lon_proto::text::on_lines;

use super::super::io::{print_in, print_text};
use crate::cli::Format;
use crate::exit::{Exit, OrExit as _, Outcome};
use crate::outputs::documents::submission_check::{NO_CLONE, OfficialChecker};
use crate::submission::check;
use crate::submission::checked::Submission;

/// The folder of the official checker in a clone.
const CHECKER: &str = "tools/submission";
/// Its word for a good tree.
const LOOKS_OK: &str = "SUMMARY: submission looks OK";
/// Most lines of the checker's output that are shown.
const SHOWN: usize = 12;

/// A tree with what it is to be held against.
pub(super) struct Asked {
    tree: PathBuf,
    /// The round that was asked for. `None`: that of the submission's file.
    rules: Option<&'static Rules>,
    /// The folder of the official checker.
    checker: Option<PathBuf>,
}

impl Asked {
    /// Paths are from where the command was typed.
    pub(super) fn new(tree: &Path, round: Option<&str>, mlcommons: Option<&Path>) -> Outcome<Asked> {
        let rules = round.map(Rules::named).transpose().context("--rules").or_exit(Exit::Usage)?;
        let build = "`loadgen-node submission build FILE --out TREE` makes the folder";
        let tree = folder(tree, build).or_exit(Exit::Usage)?;
        let clone = "give the folder that `git clone https://github.com/mlcommons/inference` made";
        let checker = mlcommons.map(|path| folder(&path.join(CHECKER), clone).context("--mlcommons"));
        Ok(Asked { tree, rules, checker: checker.transpose().or_exit(Exit::Usage)? })
    }
}

/// The whole path of a folder. `remedy`: how a person gets it.
fn folder(path: &Path, remedy: &str) -> anyhow::Result<PathBuf> {
    let shown = on_lines(&path.display().to_string());
    let whole = path.canonicalize().with_context(|| format!("cannot find {shown}: {remedy}"))?;
    ensure!(whole.is_dir(), "{shown} is a file, and a folder belongs here: {remedy}");
    Ok(whole)
}

/// Looks at the tree. What is wrong makes exit code 3.
pub(super) fn check(asked: &Asked, made_of: Option<&Submission>, form: Format) -> Outcome {
    let Asked { tree, rules: wanted, checker } = asked;
    let of_file = made_of.map(|submission| submission.rules);
    let rules = wanted.or(of_file).with_context(no_rules).or_exit(Exit::Usage)?;
    if let Some(other) = of_file.filter(|other| other.round.name != rules.round.name) {
        let (asked, other) = (rules.round.name, other.round.name);
        return Err(anyhow!("--rules {asked}: the file has round {other}; leave --rules out")).or_exit(Exit::Usage);
    }
    let mut found = check::check(tree, rules, made_of).or_exit(Exit::Usage)?;
    match checker {
        None => found.official_not_asked = Some(NO_CLONE.to_owned()),
        // It has no guard of its own.
        Some(_) if found.official_not_asked.is_some() => {}
        Some(checker) => found.official = Some(official(checker, tree, rules.round.name).or_exit(Exit::Usage)?),
    }
    print_in(form, &found, || print_text(&found.text()), || found.table())?;
    Ok(if found.is_good() { Exit::Ok } else { Exit::Invalid })
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
    Ok(told(&text, done.status.success()))
}

/// Reads the verdict of the official checker from its output.
fn told(text: &str, is_success: bool) -> OfficialChecker {
    let accepted = is_success && text.contains(LOOKS_OK);
    let results = text.lines().filter_map(|line| line.split_once(" Results=")?.1.trim().parse::<u64>().ok());
    let results: Vec<u64> = results.collect();
    let mut said: Vec<&str> = text.lines().filter(|line| line.contains("ERROR")).take(SHOWN).collect();
    if said.is_empty() {
        said = text.lines().rev().take(SHOWN).collect();
        said.reverse();
    }
    OfficialChecker {
        accepted,
        results: results.iter().copied().reduce(|one, other| one + other),
        said: said.into_iter().map(str::to_owned).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_exit_code_must_both_be_good() {
        let text = "[x INFO] Network Results=2\n[x INFO] Open Results=0\n[x INFO] SUMMARY: submission looks OK\n";
        let good = told(text, true);
        assert_eq!((good.accepted, good.results), (true, Some(2)));
        assert!(!told(text, false).accepted && !told("Traceback", true).accepted);
        let bad = told("a\n[x ERROR] seeds\nSUMMARY: submission has errors\n", true);
        assert_eq!((bad.accepted, bad.said, bad.results), (false, vec!["[x ERROR] seeds".to_owned()], None));
    }
}
