//! Folders of finished runs as audits read them, and the folder of an audit as submissions have it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow};
use loadgen::official::{ACCURACY_FILE, DETAIL_FILE, SUMMARY_FILE};
use lon_proto::files::{self, Limit};
use lon_proto::sums;
use lon_proto::text::on_lines;
use lon_qsl::accuracy::Rows;

use crate::audit::{AccuracyRunFacts, AnswerLog, AuditTest, AuditedRun, Detail, Findings, OwnFacts, RunScore};
use crate::outputs::documents::audit_result::{self, AuditResult};
use crate::outputs::documents::result_summary::{self, ResultSummary};

/// Where submissions have the logs of a performance run, in the folder of a result or of a compliance test.
pub const PERFORMANCE: &str = "performance/run_1";
/// Where they have those of an accuracy run.
pub const ACCURACY: &str = "accuracy";

/// A run that is audited, with where its files are.
pub struct RunFiles {
    /// Facts of the run for the audit.
    pub run: AuditedRun,
    /// The folder with its detail log and summary.
    logs: PathBuf,
    /// The file with its answers; none when there is none.
    pub answers: Option<PathBuf>,
}

/// Reads a performance run: from the folder itself, or from where submissions have it. Answers are only read where they
/// are wanted: submissions have truncated ones beside most runs.
///
/// # Errors
/// A log is not there, or cannot be read.
pub fn run(folder: &Path, with_answers: bool) -> Result<RunFiles> {
    let inner = folder.join(PERFORMANCE);
    let is_submission = inner.is_dir();
    let logs = if is_submission { inner } else { folder.to_owned() };
    let near = [logs.join(ACCURACY_FILE), folder.join(ACCURACY).join(ACCURACY_FILE)];
    let near = near.into_iter().take(if is_submission { 2 } else { 1 }).filter(|_| with_answers);
    let (answers, log) = first_with_answers(near)?.unzip();
    let (detail, summary) = (detail(&logs)?, on_lines(&text(&logs.join(SUMMARY_FILE))?));
    let run = AuditedRun { detail, summary, answers: log, own: own(&logs)? };
    Ok(RunFiles { run, logs, answers })
}

/// The first of these files that has an answer, else the first that is there: a performance run has an empty log.
fn first_with_answers(paths: impl Iterator<Item = PathBuf>) -> Result<Option<(PathBuf, AnswerLog)>> {
    let mut empty = None;
    for path in paths.filter(|path| path.is_file()) {
        let log = read_answers(&path)?;
        if !log.is_empty() {
            return Ok(Some((path, log)));
        }
        empty = empty.or(Some((path, log)));
    }
    Ok(empty)
}

/// Reads the accuracy run of a reference, and says where it is: the folder that was given for it, else `accuracy` in
/// the folder of the reference, else the reference itself, where it was a run of both modes.
///
/// # Errors
/// There is no accuracy run, or it cannot be read.
pub fn accuracy_run(reference: &Path, accuracy_folder: Option<&Path>) -> Result<(AccuracyRunFacts, PathBuf)> {
    let of_submission = |folder: &Path| Some(folder.join(ACCURACY)).filter(|inner| inner.is_dir());
    let folder = match accuracy_folder {
        Some(accuracy_folder) => of_submission(accuracy_folder).unwrap_or_else(|| accuracy_folder.to_owned()),
        None => of_submission(reference).unwrap_or_else(|| reference.to_owned()),
    };
    let answers = read_answers(&folder.join(ACCURACY_FILE))?;
    if answers.is_empty() {
        let reason = "has no answers of an accuracy run: give one with --accuracy-run";
        return Err(anyhow!("{} {reason}", folder.display()));
    }
    let detail = if folder.join(DETAIL_FILE).is_file() { Some(detail(&folder)?) } else { None };
    Ok((AccuracyRunFacts { answers, detail, own: own(&folder)? }, folder))
}

/// Returns the folder of a test in `out`, when it can be made. Ask this before an audit, which may take long.
///
/// # Errors
/// Something of that name is there already.
pub fn free(out: &Path, test: AuditTest) -> Result<PathBuf> {
    let folder = out.join(test.name());
    let reason = "is there already: give another --out, or move it away";
    anyhow::ensure!(folder.symlink_metadata().is_err(), "{} {reason}", folder.display());
    Ok(folder)
}

/// Writes what a submission has of an audit, and the document beside it, into a folder of the audit's name. The folder
/// appears when it is whole.
///
/// # Errors
/// The folder is there already, or cannot be written.
pub fn write(out: &Path, findings: &Findings, result: &AuditResult, audited_run: &RunFiles) -> Result<PathBuf> {
    let whole = free(out, findings.test)?;
    make(out)?;
    let cannot = || format!("cannot write into {}", out.display());
    let scratch_folder = tempfile::Builder::new().prefix(".audit-").tempdir_in(out).with_context(cannot)?;
    let folder = scratch_folder.path().join(findings.test.name());
    write_into(&folder, findings, result, audited_run)?;
    fs::rename(&folder, &whole).with_context(|| format!("cannot make {}", whole.display()))?;
    Ok(whole)
}

fn write_into(folder: &Path, findings: &Findings, result: &AuditResult, audited_run: &RunFiles) -> Result<()> {
    let logs = folder.join(PERFORMANCE);
    make(folder)?;
    for file in &findings.files {
        let path = folder.join(file.name);
        make(path.parent().unwrap_or(folder))?;
        save(&path, file.text.as_bytes())?;
    }
    if findings.test.keeps_logs() {
        make(&logs)?;
        for name in [SUMMARY_FILE, DETAIL_FILE] {
            copy(&audited_run.logs.join(name), &logs.join(name))?;
        }
    }
    if let (true, Some(answers)) = (findings.test.keeps_answers(), &audited_run.answers) {
        let inner = folder.join(ACCURACY);
        make(&inner)?;
        copy(answers, &inner.join(ACCURACY_FILE))?;
    }
    let mut document = Vec::new();
    crate::outputs::documents::write(&mut document, result)?;
    save(&folder.join(audit_result::FILE), &document)
}

fn make(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))
}

fn save(path: &Path, bytes: &[u8]) -> Result<()> {
    fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))
}

/// Copies a file that somebody else may have made.
///
/// # Errors
/// It cannot be read, or the other cannot be written.
pub fn copy(from: &Path, to: &Path) -> Result<()> {
    let copied = files::open(from, Limit::DATA).and_then(|mut from| io::copy(&mut from, &mut fs::File::create(to)?));
    copied.with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))?;
    Ok(())
}

fn text(path: &Path) -> Result<String> {
    files::text(path, Limit::LOG).with_context(|| format!("cannot read {}", path.display()))
}

fn detail(folder: &Path) -> Result<Detail> {
    let path = folder.join(DETAIL_FILE);
    Detail::read(&text(&path)?).map_err(|why| anyhow!("{}: {why}", path.display()))
}

fn read_answers(path: &Path) -> Result<AnswerLog> {
    let way_out = "it may have been truncated for a submission; give the folder that the run itself wrote";
    let of_file = || format!("{} is no whole accuracy log: {way_out}", path.display());
    AnswerLog::read(text(path)?).with_context(of_file)
}

/// Returns the facts in the documents of this program, where the folder has them.
fn own(folder: &Path) -> Result<Option<OwnFacts>> {
    if !folder.join(result_summary::FILE).exists() {
        return Ok(None);
    }
    let result = ResultSummary::of_folder(folder)?;
    let nodes = &result.network.nodes;
    let mut models: Vec<String> = nodes.iter().map(|node| format!("{} {}", node.model, node.model_sha256)).collect();
    models.sort_unstable();
    models.dedup();
    let logs = [DETAIL_FILE, SUMMARY_FILE, ACCURACY_FILE];
    let altered = logs.iter().filter(|name| is_altered(folder, name, &result)).map(ToString::to_string).collect();
    let profile = result.profile();
    let score = result.accuracy.map(|score| RunScore {
        metric: score.metric,
        value: score.value,
        samples: score.samples,
        is_error: score.target.is_none(),
    });
    Ok(Some(OwnFacts {
        score,
        dataset: result.dataset,
        sums: result.dataset_sums_sha256,
        profile,
        dtype: result.network.rows().map(Rows::dtype),
        benchmark: result.benchmark,
        settings: result.settings,
        models,
        altered,
    }))
}

/// Returns true when a file has another sum than the result lists. A file that is missing on both sides is not altered.
fn is_altered(folder: &Path, name: &str, result: &ResultSummary) -> bool {
    let path = folder.join(name);
    let sum = if path.is_file() { sum_of(&path).ok() } else { None };
    let is_missing = path.symlink_metadata().is_err();
    match result.files.get(name) {
        Some(listed) => Some(&listed.sha256) != sum.as_ref(),
        None => !is_missing,
    }
}

/// The SHA-256 of a file, which may be larger than the memory.
pub fn sum_of(path: &Path) -> std::io::Result<String> {
    files::open(path, Limit::DATA).and_then(sums::of).map(|(sum, _)| sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NO_ANSWER: &str = "[\n]\n";
    const ANSWER: &str = "[\n{ \"seq_id\" : 0, \"qsl_idx\" : 1, \"data\" : \"AA\" }\n]\n";

    /// A folder as submissions have it, with these two accuracy logs.
    fn submission(of_performance: &str, of_accuracy: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let [logs, accuracy] = [PERFORMANCE, ACCURACY].map(|name| folder.path().join(name));
        make(&logs).unwrap();
        make(&accuracy).unwrap();
        save(&logs.join(DETAIL_FILE), b":::MLLOG {\"key\": \"a\", \"value\": 1}\n").unwrap();
        save(&logs.join(SUMMARY_FILE), b"").unwrap();
        save(&logs.join(ACCURACY_FILE), of_performance.as_bytes()).unwrap();
        save(&accuracy.join(ACCURACY_FILE), of_accuracy.as_bytes()).unwrap();
        folder
    }

    #[test]
    fn the_log_that_has_answers_is_read() {
        let folder = submission(NO_ANSWER, ANSWER);
        let audited_run = run(folder.path(), true).unwrap();
        assert!(audited_run.run.answers.is_some_and(|log| !log.is_empty()));
        assert_eq!(audited_run.answers, Some(folder.path().join(ACCURACY).join(ACCURACY_FILE)));
        let audited_run = run(submission(NO_ANSWER, NO_ANSWER).path(), true).unwrap();
        assert!(audited_run.run.answers.is_some_and(|log| log.is_empty()));
    }

    #[test]
    fn truncated_answers_are_a_fault_only_where_answers_are_needed() {
        let folder = submission("hash=00", "");
        assert!(run(folder.path(), false).is_ok_and(|audited_run| audited_run.run.answers.is_none()));
        let message = run(folder.path(), true).err().unwrap().to_string();
        assert!(message.contains("truncated") && message.contains("give the folder"), "{message}");
    }

    #[test]
    fn a_folder_that_is_there_is_told_before_anything_is_judged() {
        let out = tempfile::tempdir().unwrap();
        assert!(free(out.path(), AuditTest::Test04).is_ok());
        make(&out.path().join("TEST04")).unwrap();
        let message = free(out.path(), AuditTest::Test04).unwrap_err().to_string();
        assert!(message.contains("give another --out, or move it away"), "{message}");
    }

    #[test]
    fn an_audit_that_cannot_be_written_leaves_nothing() {
        let (out, folder) = (tempfile::tempdir().unwrap(), submission(NO_ANSWER, ANSWER));
        let audited_run = run(folder.path(), true).unwrap();
        let findings =
            Findings { test: AuditTest::Test04, scenario: String::new(), checks: Vec::new(), files: Vec::new() };
        let result = AuditResult::new(&findings, audit_result::Folders::default());
        let summary = audited_run.logs.join(SUMMARY_FILE);
        fs::remove_file(&summary).unwrap();
        assert!(write(out.path(), &findings, &result, &audited_run).is_err());
        assert_eq!(fs::read_dir(out.path()).unwrap().count(), 0);
        save(&summary, b"").unwrap();
        let test_folder = write(out.path(), &findings, &result, &audited_run).unwrap();
        assert!(test_folder.join(PERFORMANCE).join(DETAIL_FILE).is_file());
        assert_eq!(fs::read_dir(out.path()).unwrap().count(), 1);
    }
}
