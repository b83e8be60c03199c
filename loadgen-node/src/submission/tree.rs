//! Writes the folders of a submission: made beside the place where they are to be, and given their name when they are
//! whole.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use lon_proto::files::{self, Limit};
use serde::Serialize;

use super::checked::{Engine, Submission};
use super::entry::{Entry, model_texts};
use super::kind::Kind;
use super::layout::{Layout, REHEARSAL};
use super::record::{self, State};
use super::step::Step;
use super::{inferred, score, system, truncated_log};
use loadgen::official::{ACCURACY_FILE, DETAIL_FILE, SUMMARY_FILE};
use loadgen::settings::Scenario;
use lon_run::audit::AuditTest;
use lon_run::outputs::documents::system_desc::{self, SystemDesc};
use lon_run::outputs::documents::{self, audit_result};
use lon_run::outputs::logs::audit_folder::{self, ACCURACY, PERFORMANCE};
use lon_run::outputs::report::diagram;

/// The numbers of files and results in a tree that the program wrote.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TreeCounts {
    pub(crate) files: usize,
    /// Benchmarks and scenarios with a result.
    pub(crate) results: usize,
}

/// Makes the tree of a submission whose runs are all there.
///
/// # Errors
/// Something is at `out` already, a run is missing or does not count, a text is missing, or a file cannot be written.
/// Then nothing is left at `out`.
pub(crate) fn build(submission: &Submission, out: &Path) -> Result<TreeCounts> {
    let is_free = out.symlink_metadata().is_err();
    ensure!(is_free, "{} is there already: give another --out, or move it away", out.display());
    complete(submission)?;
    let parent = out.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(parent).with_context(|| format!("cannot make {}", parent.display()))?;
    let work_folder = tempfile::Builder::new().prefix(".submission-").tempdir_in(parent)?;
    let root = work_folder.path().join("tree");
    let above = root.join(submission.division.name()).join(&submission.submitter);
    let layout = Layout::new(&above, &submission.system, submission.rules.round.name);
    let mut tree = Tree { submission, layout, counts: TreeCounts::default() };
    tree.write_all(&root)?;
    let counts = tree.counts;
    fs::rename(&root, out).with_context(|| format!("cannot make {}", out.display()))?;
    Ok(counts)
}

/// Refuses a submission whose runs are not all there.
fn complete(submission: &Submission) -> Result<()> {
    let open = submission.steps().into_iter().filter_map(|step| match record::state(&step) {
        State::Done => None,
        State::Missing => Some(format!("\n  {step}: it was not run")),
        State::Stale(why) => Some(format!("\n  {step}: {why}")),
        // It begins with the name of the step.
        State::Unscored(why) => Some(format!("\n  {why}")),
    });
    let open: Vec<String> = open.collect();
    match open.is_empty() {
        true => Ok(()),
        false => Err(anyhow!("not every run is there; `loadgen-node submission run FILE` makes:{}", open.concat())),
    }
}

struct Tree<'a> {
    submission: &'a Submission,
    layout: Layout,
    counts: TreeCounts,
}

impl Tree<'_> {
    fn write_all(&mut self, root: &Path) -> Result<()> {
        let submission = self.submission;
        for step in submission.steps() {
            match step.kind {
                Kind::Compliance(test) => self.compliance(&step, test)?,
                Kind::Accuracy | Kind::Performance => {
                    let inferred = step.entry.inferred.iter().filter(|(_, from)| *from == step.scenario);
                    for scenario in inferred.map(|(to, _)| *to).chain([step.scenario]) {
                        match step.kind {
                            Kind::Accuracy => self.accuracy(&step, scenario)?,
                            _ => self.performance(&step, scenario)?,
                        }
                    }
                }
            }
        }
        for entry in &submission.entries {
            self.text(&self.layout.code(&entry.folder).join("README.md"), &code(submission, entry))?;
        }
        self.documentation()?;
        if submission.rehearsal.is_some() {
            self.text(&root.join(REHEARSAL), REHEARSAL_TEXT)?;
        }
        Ok(())
    }

    /// The result of a scenario, which may follow from a run of another, with all that is said of it.
    fn performance(&mut self, step: &Step<'_>, scenario: Scenario) -> Result<()> {
        let entry = step.entry;
        self.logs(step, &self.layout.results(&entry.folder, scenario.name()).join(PERFORMANCE))?;
        let folder = self.layout.measurements(&entry.folder, scenario.name());
        let texts: serde_json::Map<String, serde_json::Value> =
            model_texts(&entry.model).into_iter().map(|(key, text)| (key.to_owned(), text.into())).collect();
        self.document(&folder.join(self.layout.measurements_file(scenario.name())), &texts)?;
        for input in step.inputs() {
            self.text(&folder.join(input.name), &input.text)?;
        }
        self.text(&folder.join("README.md"), &readme(step, scenario)?)?;
        self.counts.results += 1;
        Ok(())
    }

    fn accuracy(&mut self, step: &Step<'_>, scenario: Scenario) -> Result<()> {
        let folder = self.layout.results(&step.entry.folder, scenario.name()).join(ACCURACY);
        self.logs(step, &folder)?;
        self.answers(&step.folder().join(ACCURACY_FILE), &folder, &score::of_accuracy(step)?)
    }

    fn compliance(&mut self, step: &Step<'_>, test: AuditTest) -> Result<()> {
        let folder = self.layout.compliance(&step.entry.folder, step.scenario.name()).join(test.name());
        let audit = step.audits().join(test.name());
        for from in files(&audit)? {
            let name = from.strip_prefix(&audit)?;
            let is_answers = name.ends_with(ACCURACY_FILE);
            // The document of this program: checkers allow official files only. Logs come from the run itself.
            if name == Path::new(audit_result::FILE)
                || name.starts_with(PERFORMANCE)
                || (is_answers && test == AuditTest::Test01)
            {
                continue;
            }
            self.copy(&from, &folder.join(name))?;
        }
        if test.keeps_logs() {
            self.logs(step, &folder.join(PERFORMANCE))?;
        }
        match test {
            AuditTest::Test01 => {
                let answers = step.folder().join(ACCURACY_FILE);
                self.answers(&answers, &folder.join(ACCURACY), &score::of_subset(step)?)
            }
            _ => Ok(()),
        }
    }

    /// An accuracy log without its middle, and its score with the sum of the whole.
    fn answers(&mut self, log: &Path, folder: &Path, scores: &str) -> Result<()> {
        let text = files::text(log, Limit::LOG).with_context(|| format!("cannot read {}", log.display()))?;
        let sum = audit_folder::sum_of(log)?;
        self.text(&folder.join(ACCURACY_FILE), &truncated_log::truncated(&text))?;
        self.text(&folder.join(score::FILE), &truncated_log::with_hash(scores, &sum))
    }

    fn logs(&mut self, step: &Step<'_>, folder: &Path) -> Result<()> {
        for name in [SUMMARY_FILE, DETAIL_FILE] {
            self.copy(&step.folder().join(name), &folder.join(name))?;
        }
        Ok(())
    }

    /// Writes the documents that hold for all results: the system, its picture, calibration.
    fn documentation(&mut self) -> Result<()> {
        let (submission, step) = (self.submission, one_system(self.submission)?);
        let desc: SystemDesc = step.document(system_desc::FILE)?;
        self.document(&self.layout.system(), &system::official(submission, &desc)?)?;
        self.text(&self.layout.documentation("network.svg"), &diagram::svg(&desc))?;
        self.text(&self.layout.documentation("network.md"), &network(&desc))?;
        let calibration = format!("# Calibration\n\n{}\n", submission.texts.calibration.trim());
        self.text(&self.layout.documentation("calibration.md"), &calibration)
    }

    fn document(&mut self, path: &Path, document: &impl Serialize) -> Result<()> {
        let mut text = Vec::new();
        documents::write(&mut text, document)?;
        self.bytes(path, &text)
    }

    fn text(&mut self, path: &Path, text: &str) -> Result<()> {
        self.bytes(path, text.as_bytes())
    }

    fn bytes(&mut self, path: &Path, bytes: &[u8]) -> Result<()> {
        make_above(path)?;
        fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))?;
        self.counts.files += 1;
        Ok(())
    }

    fn copy(&mut self, from: &Path, to: &Path) -> Result<()> {
        make_above(to)?;
        audit_folder::copy(from, to)?;
        self.counts.files += 1;
        Ok(())
    }
}

fn make_above(path: &Path) -> Result<()> {
    let above = path.parent().unwrap_or(path);
    fs::create_dir_all(above).with_context(|| format!("cannot make {}", above.display()))
}

/// Every file below a folder, in the order of names.
///
/// # Errors
/// A folder cannot be read.
pub(super) fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        match path.is_dir() {
            true => paths.extend(files(&path)?),
            false => paths.push(path),
        }
    }
    paths.sort();
    Ok(paths)
}

/// One of the performance runs, all of which have to be of the same system.
fn one_system(submission: &Submission) -> Result<Step<'_>> {
    let steps: Vec<Step<'_>> = submission.steps();
    let Some(first) = steps.iter().find(|step| step.kind == Kind::Performance) else {
        bail!("there is no performance run")
    };
    let first_desc: SystemDesc = first.document(system_desc::FILE)?;
    for step in &steps {
        let other: SystemDesc = step.document(system_desc::FILE)?;
        let names = |desc: &SystemDesc| desc.sut.iter().map(|node| node.name.clone()).collect::<Vec<_>>();
        let (ours, theirs) = (names(&first_desc), names(&other));
        ensure!(ours == theirs, "{first} was made by {}, {step} by {}", ours.join(", "), theirs.join(", "));
        let differing = first_desc.official.iter().find(|(key, text)| other.official.get(*key) != Some(*text));
        if let Some((key, text)) = differing {
            let there = other.official.get(key).map(ToString::to_string).unwrap_or_default();
            bail!("{first} and {step} are of different systems: {key} is {text} and {there}");
        }
    }
    Ok(*first)
}

/// Returns the readme of the result of a scenario. Where the result is inferred, the run is one of another scenario.
fn readme(performance: &Step<'_>, scenario: Scenario) -> Result<String> {
    let Step { submission, entry, .. } = *performance;
    let Submission { system, rules, .. } = submission;
    let mut text = format!(
        "# {} {}, {system}, round {}\n\nThe LoadGen node ran the scenario and sent every query over the network to the \
         SUT nodes. Runs were made by these commands, in this order:\n\n```sh\n",
        entry.folder,
        scenario.name(),
        rules.round.name
    );
    for step in submission.steps().into_iter().filter(|step| step.entry.folder == entry.folder) {
        if step.scenario == performance.scenario {
            let program = if submission.engine == Engine::Own { "loadgen-node " } else { "" };
            let _ = writeln!(text, "{program}{}", step.command_line().join(" "));
        }
    }
    let run = performance.run_result()?;
    let _ = write!(text, "```\n\n{}, started {}.\n\n", run.engine, run.started_utc);
    if scenario != performance.scenario {
        let from = performance.scenario;
        let Some(result) = inferred::result(scenario, from, &performance.detail()?) else {
            bail!("{performance}: {}", inferred::lacks(scenario))
        };
        let _ = write!(text, "The result is inferred from {} (rules v5, 4.1.1): {result}.\n\n", from.name());
    }
    let _ = writeln!(text, "{}", if submission.engine == Engine::Own { NOT_OFFICIAL } else { UNVERIFIED });
    if !submission.texts.readme.trim().is_empty() {
        let _ = write!(text, "\n{}\n", submission.texts.readme.trim());
    }
    Ok(text)
}

fn code(submission: &Submission, entry: &Entry) -> String {
    format!("# Code for {}\n\n{}\n", entry.folder, submission.texts.code.trim())
}

/// Returns the text on the network: the way of a sample's bytes from one memory to the other.
fn network(desc: &SystemDesc) -> String {
    let path: Vec<String> = desc.data_path.iter().map(|end| format!("- {end}\n")).collect();
    format!("# Network and data path\n\n![The system](network.svg)\n\n{}", path.concat())
}

const NOT_OFFICIAL: &str = "The logs are those of loadgen-node, not of the official LoadGen: the rules ask for the \
                            official one. Results are unverified.";

const UNVERIFIED: &str = "The official LoadGen led the runs. Results are unverified.";

const REHEARSAL_TEXT: &str = "# A rehearsal\n\nAll runs were shortened, and rules of the division may be \
                              broken. This tree shows that the way from runs to folders works. It is not to be \
                              submitted.\n";
