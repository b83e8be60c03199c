//! The files of a tree. What is read here is known to belong there. What nobody has asked for at the end does not
//! belong where the checkers have lists of files; elsewhere that is advice.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use lon_proto::files::{self, Limit};
use lon_proto::text::on_one_line;

use super::super::layout::REHEARSAL;
use lon_run::audit::{AuditCheck, CheckOutcome, LENGTHS_ROW, VERDICT_ROW, VERSION_ROW};
use lon_run::outputs::documents::submission_check::TreeFinding;

/// The largest file that a submission may have (50 MB in the checkers of the rounds).
const LARGEST_BYTES: u64 = 50 * 1024 * 1024;
pub(super) const LARGEST: Limit = Limit::bytes(LARGEST_BYTES);
/// A larger file is not read to its end in any useful time.
const ENDLESS_BYTES: u64 = 20 * LARGEST_BYTES;
/// Files outside of the folders of submitters have so many parts in their paths at most.
const TOP: usize = 2;
/// Ends of the names that files in the top folder may have.
const AT_THE_TOP: [&str; 2] = ["md", "pdf"];

/// Rows of audits on what no official text asks: how long and how fast a submitter asks, one LoadGen for all runs, and
/// the verdict of a test whose script asks for none.
const FREE_ROWS: [&str; 3] = [LENGTHS_ROW, VERDICT_ROW, VERSION_ROW];

/// A tree that is looked at.
pub(super) struct Tree {
    root: PathBuf,
    /// Files that nobody has asked for yet.
    spare_files: BTreeSet<PathBuf>,
    /// The folders of the scenarios that are looked at.
    scenarios: Vec<PathBuf>,
    findings: Vec<TreeFinding>,
    advice: Vec<TreeFinding>,
    unchecked: BTreeSet<String>,
    has_endless: bool,
}

/// The outcome of the check of a tree.
pub(super) struct TreeNotes {
    /// The faults, in the order in which the check found them.
    pub(super) findings: Vec<TreeFinding>,
    /// Points that no official text forbids, and that the submitter may not intend.
    pub(super) advice: Vec<TreeFinding>,
    /// The things that the check could not look at.
    pub(super) unchecked: Vec<String>,
    /// A program without a guard of its own could wait for one of the files, or read it, for ever.
    pub(super) has_endless: bool,
}

impl Tree {
    /// Reads which files there are, with the faults that any file can have.
    ///
    /// # Errors
    /// A folder cannot be read.
    pub(super) fn open(root: &Path) -> Result<Tree> {
        let mut tree = Tree {
            root: root.to_owned(),
            spare_files: BTreeSet::new(),
            scenarios: Vec::new(),
            findings: Vec::new(),
            advice: Vec::new(),
            unchecked: BTreeSet::new(),
            has_endless: false,
        };
        tree.walk(root)?;
        let at_the_top: Vec<PathBuf> =
            tree.spare_files.iter().filter(|path| path.parent() == Some(root)).cloned().collect();
        for path in at_the_top {
            let end = path.extension().and_then(|end| end.to_str()).unwrap_or_default();
            if AT_THE_TOP.contains(&end) {
                tree.spare_files.remove(&path);
            }
        }
        Ok(tree)
    }

    fn walk(&mut self, folder: &Path) -> Result<()> {
        let cannot = || format!("cannot read {}", folder.display());
        let mut paths: Vec<PathBuf> = Vec::new();
        for entry in fs::read_dir(folder).with_context(cannot)? {
            paths.push(entry.with_context(cannot)?.path());
        }
        if paths.is_empty() {
            self.advise(folder, "is an empty folder");
        }
        paths.sort();
        for path in paths {
            let data = path.symlink_metadata().with_context(|| format!("cannot read {}", path.display()))?;
            if let Some(why) = wrong_name(&path) {
                self.add_fault(&path, why);
            }
            if data.is_dir() {
                self.walk(&path)?;
                continue;
            }
            self.has_endless |= path.metadata().is_ok_and(|data| is_endless(&data));
            match data.is_file() {
                true if data.len() > LARGEST_BYTES => {
                    self.add_fault(&path, format!("has {} bytes, and {LARGEST_BYTES} are the most", data.len()));
                }
                true => {}
                false if self.is_inner_link(&path) => {
                    self.advise(&path, "is a link to another place of the tree: a copy of the tree may lose it");
                }
                false => self.add_fault(&path, "is no file: a link out of the tree or to nothing, a pipe or a device"),
            }
            self.spare_files.insert(path);
        }
        Ok(())
    }

    /// Returns true when this is a link to a file or folder of the tree. No official text forbids one.
    fn is_inner_link(&self, path: &Path) -> bool {
        let (root, to) = (self.root.canonicalize(), path.canonicalize());
        path.is_symlink() && root.is_ok_and(|root| to.is_ok_and(|to| to.starts_with(root)))
    }

    /// The folder of the tree.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// Returns true when the tree says that its runs were shortened.
    pub(super) fn is_rehearsal(&self) -> bool {
        self.root.join(REHEARSAL).is_file()
    }

    /// Notes a fault of a file or folder.
    pub(super) fn add_fault(&mut self, path: &Path, what: impl Into<String>) {
        let finding = self.finding(path, &what.into());
        if !self.findings.contains(&finding) {
            self.findings.push(finding);
        }
    }

    /// Notes what no official text forbids, and what may not be meant.
    pub(super) fn advise(&mut self, path: &Path, what: impl Into<String>) {
        let finding = self.finding(path, &what.into());
        if !self.advice.contains(&finding) {
            self.advice.push(finding);
        }
    }

    fn finding(&self, path: &Path, what: &str) -> TreeFinding {
        let inner = path.strip_prefix(&self.root).unwrap_or(path);
        let path = if inner.as_os_str().is_empty() { ".".to_owned() } else { inner.display().to_string() };
        TreeFinding { path: on_one_line(&path), what: on_one_line(what) }
    }

    /// Notes what could not be looked at.
    pub(super) fn unchecked(&mut self, what: impl Into<String>) {
        self.unchecked.insert(on_one_line(&what.into()));
    }

    /// Notes the rows of an audit of a file that did not pass. Some are on what no official text asks.
    pub(super) fn rows(&mut self, path: &Path, of: &str, rows: Vec<AuditCheck>) {
        for AuditCheck { name, outcome, wanted: rule, found: fact, .. } in rows {
            match outcome {
                CheckOutcome::Passed => {}
                CheckOutcome::Failed if FREE_ROWS.contains(&&*name) => {
                    self.advise(path, format!("{of}, {name}: {fact} (wanted: {rule})"));
                }
                CheckOutcome::Failed => self.add_fault(path, format!("{of}, {name}: {fact} (wanted: {rule})")),
                CheckOutcome::Unchecked => self.unchecked(format!("{name}: {fact}")),
            }
        }
    }

    /// Notes the folder of a scenario. The checkers have no lists of files for others.
    pub(super) fn looks_at(&mut self, scenario: PathBuf) {
        self.scenarios.push(scenario);
    }

    /// The text of a file that must be there and have one. None: it has not, and that is noted.
    pub(super) fn text(&mut self, path: &Path) -> Option<String> {
        self.spare_files.remove(path);
        let is_file = path.symlink_metadata().is_ok_and(|data| data.is_file() && data.len() <= LARGEST_BYTES);
        let why = match is_file.then(|| files::text(path, LARGEST)) {
            Some(Ok(text)) if text.trim().is_empty() => "is empty".to_owned(),
            Some(Ok(text)) => return Some(text),
            Some(Err(error)) => format!("cannot be read: {error}"),
            None if path.symlink_metadata().is_err() => "is missing".to_owned(),
            None if path.is_symlink() => "is a link: a file has to be here".to_owned(),
            // An earlier finding reports it already.
            None => return None,
        };
        self.add_fault(path, why);
        None
    }

    /// Takes a file or folder for one that may be there, with all that is in it.
    pub(super) fn allow(&mut self, path: &Path) {
        self.spare_files.retain(|file| !file.starts_with(path));
    }

    /// The names of the folders in a folder, in order; none where there is no folder.
    pub(super) fn folders(&self, folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let folders = entries.filter(|entry| entry.path().is_dir());
        let mut names: Vec<String> = folders.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    /// The names of the files in a folder, in order.
    pub(super) fn files(&self, folder: &Path) -> Vec<String> {
        let of_folder = self.spare_files.iter().filter(|path| path.parent() == Some(folder));
        of_folder.filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned())).collect()
    }

    /// Returns the outcome, with the files that no check has asked for in this round.
    pub(super) fn end(mut self, round: &str) -> TreeNotes {
        for path in std::mem::take(&mut self.spare_files) {
            let inner = path.strip_prefix(&self.root).unwrap_or(&path);
            let is_at_the_top = inner.components().count() <= TOP;
            let is_looked_at = is_at_the_top || self.scenarios.iter().any(|scenario| path.starts_with(scenario));
            match is_looked_at && has_list(inner, round) {
                true => self.add_fault(&path, "does not belong here: a submission of this round has no such file"),
                false => self.advise(&path, "is nothing that a submission of this round asks for"),
            }
        }
        let unchecked = self.unchecked.into_iter().collect();
        TreeNotes { findings: self.findings, advice: self.advice, unchecked, has_endless: self.has_endless }
    }
}

/// True where a program that opens it may wait, or read, for ever.
fn is_endless(data: &fs::Metadata) -> bool {
    !data.is_dir() && (!data.is_file() || data.len() > ENDLESS_BYTES)
}

/// Returns true when the checker of a round has a list of the files that may lie beside a file: at the top, and in
/// folders of `DIVISION/SUBMITTER/results/SYSTEM/BENCHMARK/SCENARIO`. From v6.0 on those of both runs have none.
fn has_list(inner: &Path, round: &str) -> bool {
    let parts: Vec<&str> = inner.iter().filter_map(|part| part.to_str()).collect();
    let [_, _, part @ ("results" | "compliance"), _, _, _, within @ ..] = &parts[..] else {
        return parts.len() <= TOP;
    };
    match within {
        ["accuracy", _] | ["performance", "run_1", _] => *part == "results" && round < "v6.0",
        ["TEST01" | "TEST04", "performance", "run_1", _] | ["TEST01", "accuracy", _] => parts[0] != "open",
        _ => false,
    }
}

/// Returns the fault in the name of a file or folder.
fn wrong_name(path: &Path) -> Option<String> {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
        return Some("has a name that is no text".to_owned());
    };
    match () {
        () if name.starts_with('.') => Some("begins with a dot: submissions have no hidden files".to_owned()),
        () if name.contains(char::is_whitespace) => Some("has a blank in its name".to_owned()),
        () => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings_of(tree: Tree) -> Vec<String> {
        tree.end("v5.1").findings.into_iter().map(|finding| format!("{} {}", finding.path, finding.what)).collect()
    }

    /// Sources: the lists of both official checkers, mlcommons/inference b66003e1; trees of v6.0 have other files.
    #[test]
    fn files_belong_where_the_checkers_have_lists_of_them() {
        let run = "a/results/s/resnet50/Server";
        for (path, in_v5, in_v6) in [
            (format!("network/{run}/performance/run_1/note.txt"), true, false),
            (format!("open/{run}/accuracy/note.txt"), true, false),
            (format!("closed/{run}/accuracy/images/note.txt"), false, false),
            (format!("closed/{run}/TEST01/performance/run_1/note.txt"), true, true),
            (format!("closed/{run}/TEST06/mlperf_log_accuracy.json"), false, false),
            (format!("open/{run}/mlperf.conf"), false, false),
            ("network/a/compliance/s/resnet50/Server/TEST04/performance/run_1/note.txt".to_owned(), true, true),
            ("closed/a/compliance/s/resnet50/Server/TEST04/note.txt".to_owned(), false, false),
            ("closed/a/compliance/s/resnet50/Server/performance/run_1/note.txt".to_owned(), false, false),
            ("open/a/compliance/s/resnet50/Server/TEST04/performance/run_1/note.txt".to_owned(), false, false),
            ("network/a/results/summary.html".to_owned(), false, false),
            ("network/a/setup/start.sh".to_owned(), false, false),
            ("network/note.txt".to_owned(), true, true),
        ] {
            let has_lists = ["v5.1", "v6.0"].map(|round| has_list(Path::new(&path), round));
            assert_eq!(has_lists, [in_v5, in_v6], "{path}");
        }
    }

    #[test]
    fn a_link_within_the_tree_is_advice_where_no_file_has_to_be() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("code")).unwrap();
        fs::write(root.path().join("code/a"), "x").unwrap();
        for (to, name) in [("code", "src"), ("/etc", "out"), ("nothing", "lost")] {
            std::os::unix::fs::symlink(to, root.path().join(name)).unwrap();
        }
        let mut tree = Tree::open(root.path()).unwrap();
        let advised: Vec<&str> = tree.advice.iter().map(|advice| &*advice.path).collect();
        assert_eq!(advised, ["src"]);
        let paths: Vec<&str> = tree.findings.iter().map(|finding| &*finding.path).collect();
        assert_eq!(paths, ["lost", "out"]);
        assert_eq!(tree.text(&root.path().join("src")), None);
        assert_eq!(tree.findings.last().unwrap().what, "is a link: a file has to be here");
    }

    #[test]
    fn files_that_nobody_asks_for_and_odd_names_are_named() {
        let root = tempfile::tempdir().unwrap();
        for name in ["README.md", "a", ".b", "c d", "empty"] {
            fs::write(root.path().join(name), if name == "empty" { "" } else { "x" }).unwrap();
        }
        fs::create_dir(root.path().join("f")).unwrap();
        let mut tree = Tree::open(root.path()).unwrap();
        assert_eq!(tree.text(&root.path().join("a")).as_deref(), Some("x"));
        assert_eq!(tree.text(&root.path().join("empty")), None);
        assert_eq!(tree.text(&root.path().join("g")), None);
        let all = findings_of(tree);
        let other = "does not belong here: a submission of this round has no such file";
        let [dot, blank] = [".b", "c d"].map(|name| format!("{name} {other}"));
        assert_eq!(
            all,
            [
                ".b begins with a dot: submissions have no hidden files",
                "c d has a blank in its name",
                "empty is empty",
                "g is missing",
                &dot,
                &blank,
            ]
        );
    }
}
