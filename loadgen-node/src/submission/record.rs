//! Records the command, files and earlier runs that a finished run of a submission was made of (`submission_step.json`
//! in its folder), and checks whether the run still counts. A run is made again when its command, its files or the runs
//! before it have changed.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use lon_proto::files::{self, Limit};
use lon_shell::documents::of_text;
use sha2::{Digest as _, Sha256};

use super::checked::Engine;
use super::kind::Kind;
use super::run_result::SCORE_FILE;
use super::score;
use super::step::Step;
use loadgen::official::{ACCURACY_FILE, DETAIL_FILE, SUMMARY_FILE};
use lon_run::outputs::documents;
use lon_run::outputs::documents::audit_result::{self, AuditResult};
use lon_run::outputs::documents::submission_step::{FILE, SCHEMA, StepRecord};
use lon_run::outputs::logs::audit_folder::sum_of;

/// The state of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// It has a run that counts.
    Done,
    /// There is nothing in its place.
    Missing,
    /// There is a folder, and why it does not count.
    Stale(String),
    /// Its run is good, and lacks a score that only the official script can give: what is to be done.
    Unscored(String),
}

/// Returns the state of the step.
pub(crate) fn state(step: &Step<'_>) -> State {
    let folder = step.folder();
    if folder.symlink_metadata().is_err() {
        return State::Missing;
    }
    if !folder.join(FILE).is_file() {
        return State::Stale("the run there did not come to a result that counts".to_owned());
    }
    match counts(step, &folder).map(|()| score::missing(step)) {
        Ok(None) => State::Done,
        Ok(Some(why)) => State::Unscored(why),
        Err(why) => State::Stale(format!("{why:#}")),
    }
}

/// Checks that a run in its folder counts. A score that is not there yet does not matter.
fn counts(step: &Step<'_>, folder: &Path) -> Result<()> {
    let text = files::text(&folder.join(FILE), Limit::DOCUMENT).context(FILE)?;
    let record: StepRecord = serde_json::from_str(&text).context(FILE)?;
    let now = record_of(step)?;
    ensure!(record.command == now.command, "its command was another one");
    ensure!(record.inputs == now.inputs, "its settings were other ones");
    ensure!(record.parents == now.parents, "a run that it builds on was made again");
    ensure!(record.result == now.result, "{} was changed after the run", step.result_file());
    let mut names = record.logs.keys().chain(now.logs.keys());
    let changed = names.find(|name| record.logs.get(*name) != now.logs.get(*name));
    ensure!(changed.is_none(), "{} was changed after the run", changed.map_or("a log", String::as_str));
    judge(step)
}

/// Returns the record that a run has to have now.
fn record_of(step: &Step<'_>) -> Result<StepRecord> {
    let sum = |step: &Step<'_>| {
        let path = step.folder().join(step.result_file());
        sum_of(&path).with_context(|| format!("cannot read {}", path.display()))
    };
    let inputs = step.inputs().into_iter();
    let inputs = inputs.map(|input| (input.name.to_owned(), hex::encode(Sha256::digest(input.text))));
    let parents = step.parents().into_iter().map(|parent| Ok((parent.kind.name().to_owned(), sum(&parent)?)));
    Ok(StepRecord {
        schema: SCHEMA,
        kind: step.kind.name().to_owned(),
        command: step.command_line(),
        inputs: inputs.collect(),
        parents: parents.collect::<Result<_>>()?,
        result: sum(step)?,
        logs: logs(step)?,
    })
}

/// Notes in the run folder what the run was made of, with copies of the files that it read.
///
/// # Errors
/// The run is none that counts, or the folder cannot be written.
pub(crate) fn keep(step: &Step<'_>) -> Result<()> {
    judge(step)?;
    let folder = step.folder();
    for input in step.inputs() {
        fs::write(folder.join(input.name), input.text).with_context(|| format!("cannot write {}", input.name))?;
    }
    let mut text = Vec::new();
    documents::write(&mut text, &record_of(step)?)?;
    fs::write(folder.join(FILE), text).with_context(|| format!("cannot write {FILE}"))
}

/// The sums of files that no document of the run has: scores, and the logs of the official LoadGen.
fn logs(step: &Step<'_>) -> Result<BTreeMap<String, String>> {
    let of_official = [DETAIL_FILE, SUMMARY_FILE, ACCURACY_FILE];
    let logs = of_official.into_iter().filter(|_| step.submission.engine != Engine::Own);
    let mut sums = BTreeMap::new();
    for name in logs.chain([SCORE_FILE, score::SUBSET_FILE]) {
        let path = step.folder().join(name);
        if path.is_file() {
            let sum = sum_of(&path).with_context(|| format!("cannot read {}", path.display()))?;
            sums.insert(name.to_owned(), sum);
        }
    }
    Ok(sums)
}

/// Checks that the run is one that a submission can have.
fn judge(step: &Step<'_>) -> Result<()> {
    step.refuse_unusable()?;
    match step.kind {
        Kind::Accuracy => score::reaches_target(step),
        Kind::Performance => Ok(()),
        Kind::Compliance(test) => audited(step).with_context(|| test.name()),
    }
}

/// Checks that the audit of a compliance run has passed.
fn audited(step: &Step<'_>) -> Result<()> {
    let path = step.audits().join(step.kind.name()).join(audit_result::FILE);
    let text = files::text(&path, Limit::DOCUMENT).with_context(|| format!("cannot read {}", path.display()))?;
    let result: AuditResult = of_text(&text).with_context(|| path.display().to_string())?;
    ensure!(result.passed(), "the audit has not passed: {}", path.display());
    Ok(())
}
