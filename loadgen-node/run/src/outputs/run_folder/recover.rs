//! Recovery of the folder of a run whose program was killed.
//!
//! Where everything had been written and only names were missing, the files get their names, and the result stands.
//! Else the result is made of what the folder has of the samples and the answers. It is never VALID.

use std::fs::{self, TryLockError};
use std::io::{self, BufReader, Write};
use std::path::{Path, PathBuf};

use loadgen::recorder::{self, StoredTimeline, Timeline};
use loadgen::report::accuracy;
use loadgen::run::SearchRecord;
use loadgen::settings::Mode;
use loadgen::vectors::{self, Rejudged};
use lon_proto::files::{self, Limit, MAX_LINE_BYTES};
use lon_proto::sums;
use lon_shell::documents::of_text;

use super::folder::{FileEntry, FolderError, RunFolder};
use crate::outputs::documents::result_read::not_a_run;
use crate::outputs::documents::result_summary::{FILE as RESULT, ResultSummary};
use crate::outputs::documents::{self, find_peak};
use crate::outputs::logs::{ACCURACY, SUMMARY, TIMELINE};
use crate::outputs::report::{self, Source};
use crate::outputs::screen;
use crate::outputs::timeline::{stages, stored_timeline};

/// The reason against every result that is made of what was left.
const WHY: &str = "the program was killed before the run had ended: this is what its folder had, as of a second \
                   before that at most";

/// Why a folder cannot be recovered.
#[derive(Debug, thiserror::Error)]
pub enum RecoverError {
    /// The folder is not one of a run.
    #[error("{0}")]
    NotARun(String, #[source] io::Error),
    /// The run has ended, with all of its files.
    #[error("the run of {0} has ended, nothing is missing: loadgen-node show prints its result")]
    HasEnded(PathBuf),
    /// The run goes on.
    #[error("the run of {0} goes on: wait until it has ended")]
    GoesOn(PathBuf),
    /// The parts are of another version.
    #[error("{0} is of another run: its settings are not those of {RESULT} beside it; move it away")]
    Other(PathBuf),
    /// A part cannot be read.
    #[error("cannot read {0}")]
    Read(PathBuf, #[source] io::Error),
    /// The result cannot be written.
    #[error(transparent)]
    Write(#[from] FolderError),
}

/// Completes the folder, and returns its result.
///
/// # Errors
/// It is no run folder, its run has ended or goes on, or files cannot be read or written.
pub fn recover(path: &Path) -> Result<ResultSummary, RecoverError> {
    let request = unfinished(path)?;
    let folder = RunFolder::of_earlier_run(path);
    if parts(&folder, TIMELINE)?.iter().any(|part| is_written(part)) {
        return Err(RecoverError::GoesOn(path.to_owned()));
    }
    let result = match named(&folder)? {
        Some(result) => result,
        None => partial(&folder, request)?,
    };
    let leftovers = folder.all_parts().map_err(|error| RecoverError::Read(path.to_owned(), error))?;
    leftovers.iter().for_each(|part| drop(fs::remove_file(part)));
    folder.sync()?;
    Ok(result)
}

/// Returns true when the run of this folder goes on. Where a file system has no locks, that cannot be seen.
pub fn goes_on(path: &Path) -> bool {
    RunFolder::of_earlier_run(path).parts(TIMELINE).is_ok_and(|parts| parts.iter().any(|part| is_written(part)))
}

/// Returns true when a program has locked this file to write to it.
fn is_written(part: &Path) -> bool {
    let locked = files::open(part, Limit::DATA).map(|file| file.try_lock());
    matches!(locked, Ok(Err(TryLockError::WouldBlock)))
}

/// Reads the result in the run's folder, which must say that the run has not ended.
fn unfinished(path: &Path) -> Result<ResultSummary, RecoverError> {
    let not_a_run = |error| RecoverError::NotARun(not_a_run(path), error);
    let text = files::text(&path.join(RESULT), Limit::DOCUMENT).map_err(not_a_run)?;
    let result: ResultSummary = of_text(&text).map_err(|error| not_a_run(error.into()))?;
    if result.is_unfinished() { Ok(result) } else { Err(RecoverError::HasEnded(path.to_owned())) }
}

fn parts(folder: &RunFolder, name: &str) -> Result<Vec<PathBuf>, RecoverError> {
    folder.parts(name).map_err(|error| RecoverError::Read(folder.path().to_owned(), error))
}

/// Gives every file its name, where all that the result lists is on the disk as it says. `None`: it is not.
fn named(folder: &RunFolder) -> Result<Option<ResultSummary>, RecoverError> {
    for part in parts(folder, RESULT)? {
        let text = files::text(&part, Limit::DOCUMENT).ok();
        let Some(result) = text.and_then(|text| ResultSummary::of_text(&text).ok()) else { continue };
        let Some(sources) = sources(folder, &result)? else { continue };
        for (source, target) in sources.into_iter().chain([(part, folder.path().join(RESULT))]) {
            fs::rename(source, &target).map_err(|source| FolderError::Write { path: target, source })?;
        }
        return Ok(Some(result));
    }
    Ok(None)
}

/// For each file that the result lists and that has no name yet, where it is and where it belongs. `None`: one is
/// missing, or is not what the result says.
fn sources(folder: &RunFolder, result: &ResultSummary) -> Result<Option<Vec<(PathBuf, PathBuf)>>, RecoverError> {
    let mut pairs = Vec::new();
    for (name, listed) in &result.files {
        let target = folder.path().join(name);
        let is_it = |path: &PathBuf| {
            let file = files::open(path, Limit::bytes(listed.bytes));
            file.and_then(sums::of).is_ok_and(|(sum, _)| sum == listed.sha256)
        };
        if is_it(&target) {
            continue;
        }
        match parts(folder, name)?.into_iter().find(is_it) {
            Some(part) => pairs.push((part, target)),
            None => return Ok(None),
        }
    }
    Ok((!result.files.is_empty()).then_some(pairs))
}

/// Makes a result of what there is of samples and answers.
fn partial(folder: &RunFolder, request: ResultSummary) -> Result<ResultSummary, RecoverError> {
    let stored = samples(folder, &request)?;
    // Round v0.5 judges more than a timeline has.
    let has_rules = request.settings_v0_5.is_none();
    let judged = stored.as_ref().filter(|_| has_rules).and_then(|stored| {
        let judged = vectors::replay_timeline(stored, stored.about.settings.clone());
        judged.map_err(|error| tracing::warn!(%error, "what was measured cannot be judged")).ok()
    });
    let search = search(folder)?;
    let record = search.as_ref().map(|(record, _)| record);
    let result = request.recovered(stored.as_ref(), judged.as_ref(), record, WHY);
    let mut files = Vec::new();
    if let (Some(stored), Some(judged)) = (&stored, &judged) {
        files.extend(of_samples(folder, stored, judged)?);
    }
    files.extend(answers(folder)?);
    files.extend(search.map(|(_, entry)| entry));
    files.extend(stages(folder, stored.as_ref())?);
    let source = Source::recovered(folder.path(), result.clone(), stored.as_ref());
    let page = report::caught(move || source);
    files.push(folder.keep(folder.stage(report::FILE, |out| out.write_all(page?.as_bytes()))?)?);
    let text = screen::of_document(&result, folder.path());
    files.push(folder.keep(folder.stage(screen::FILE, |out| out.write_all(text.as_bytes()))?)?);
    folder.sync()?;
    let result = result.with_files(&files);
    folder.keep(folder.stage(RESULT, |out| documents::write(out, &result))?)?;
    Ok(result)
}

/// Returns how the samples ended, as far as it is known. `None` when no sample was timed.
fn samples(folder: &RunFolder, request: &ResultSummary) -> Result<Option<StoredTimeline>, RecoverError> {
    let mut paths = parts(folder, TIMELINE)?;
    paths.push(folder.path().join(TIMELINE));
    let mut looked_at = None;
    for path in paths {
        let open = || files::open(&path, Limit::DATA).map(|file| BufReader::with_capacity(1 << 20, file));
        let (Ok(mut file), Ok(mut again)) = (open(), open()) else { continue };
        // The run had ended, but not all of its files were written.
        if let Ok(mut stored) = Timeline::read_from(&mut file) {
            recorder::interrupt(&mut stored.about, WHY);
            looked_at = Some(own(path, stored, request)?);
            break;
        }
        if let Ok(stored) = recorder::recover(&mut again, WHY) {
            looked_at = Some(own(path, stored, request)?);
        }
    }
    Ok(looked_at)
}

/// The same, unless it was measured by other settings than were asked for. A search finds its rate.
fn own(path: PathBuf, mut stored: StoredTimeline, request: &ResultSummary) -> Result<StoredTimeline, RecoverError> {
    stored_timeline::clean(&mut stored.about);
    let is_search = request.settings.mode == Mode::FindPeakPerformance;
    match is_search || stored.about.settings == request.settings {
        true => Ok(stored),
        false => Err(RecoverError::Other(path)),
    }
}

fn of_samples(folder: &RunFolder, stored: &StoredTimeline, judged: &Rejudged) -> Result<[FileEntry; 2], FolderError> {
    let timeline = folder.stage(TIMELINE, |out| stored.timeline.write_to(&stored.about, out))?;
    let summary = folder.stage(SUMMARY, |out| out.write_all(judged.report.summary.as_bytes()))?;
    Ok([folder.keep(timeline)?, folder.keep(summary)?])
}

/// The trials of a search for the peak that had ended, and their file. The next search goes on with them
/// (`--find-peak-resume`). `None`: it was no search, or no trial had ended.
fn search(folder: &RunFolder) -> Result<Option<(SearchRecord, FileEntry)>, RecoverError> {
    let path = folder.path().join(find_peak::FILE);
    if !path.exists() {
        return Ok(None);
    }
    let loader = || Ok(serde_json::from_str::<SearchRecord>(&files::text(&path, Limit::DOCUMENT)?)?);
    let record = loader().map_err(|error| RecoverError::Read(path, error))?;
    let staged = folder.stage(find_peak::FILE, |out| find_peak::write_record(out, &record))?;
    Ok(Some((record, folder.keep(staged)?)))
}

/// Node and stages of each sample, where they were kept and there are samples.
fn stages(folder: &RunFolder, stored: Option<&StoredTimeline>) -> Result<Option<FileEntry>, RecoverError> {
    let Some(stored) = stored else { return Ok(None) };
    let path = folder.path().join(stages::FILE);
    if path.exists() {
        let mut file = files::open(&path, Limit::DATA).map_err(|error| RecoverError::Read(path, error))?;
        let staged = folder.stage(stages::FILE, |out| io::copy(&mut file, out).map(drop))?;
        return Ok(Some(folder.keep(staged)?));
    }
    for part in parts(folder, stages::FILE)? {
        // One that is no part of that kind was being made of the one that is.
        match folder.stage(stages::FILE, |out| stages::stored::write(&part, stored.timeline.len() as u64, 0, out)) {
            Ok(staged) => return Ok(Some(folder.keep(staged)?)),
            Err(error) => tracing::warn!(%error, "node and stages of the samples cannot be recovered from this file"),
        }
    }
    Ok(None)
}

/// The log of the answers, up to the last whole one.
fn answers(folder: &RunFolder) -> Result<Option<FileEntry>, RecoverError> {
    let here = Some(folder.path().join(ACCURACY)).filter(|path| path.exists());
    let Some(path) = here.or(parts(folder, ACCURACY)?.into_iter().next()) else { return Ok(None) };
    let file = files::open(&path, Limit::LOG).map_err(|error| RecoverError::Read(path, error))?;
    let staged = folder.stage(ACCURACY, |out| whole_answers(BufReader::with_capacity(1 << 20, file), out))?;
    Ok(Some(folder.keep(staged)?))
}

/// Copies a log that may end anywhere, and ends it after the last whole entry.
fn whole_answers(log: impl io::BufRead, out: &mut dyn Write) -> io::Result<()> {
    write!(out, "{}", accuracy::OPEN)?;
    let mut separator = "\n";
    for line in files::lines(log, MAX_LINE_BYTES) {
        // A line that was cut within a character is the last one.
        let Ok(line) = line else { break };
        let entry = line.trim_end_matches(',');
        if entry.starts_with('{') && entry.ends_with('}') {
            write!(out, "{separator}{entry}")?;
            separator = ",\n";
        }
    }
    write!(out, "{}", accuracy::CLOSE)
}

#[cfg(test)]
mod tests {
    use sha2::{Digest as _, Sha256};

    use super::*;

    #[test]
    fn a_log_ends_after_the_last_whole_answer() {
        let entries = ["{ \"seq_id\" : 0, \"data\" : \"0E\" }", "{ \"seq_id\" : 1, \"data\" : \"\" }"];
        let whole = format!("[\n{},\n{}\n]\n", entries[0], entries[1]);
        for len in 0..=whole.len() {
            let mut out = Vec::new();
            whole_answers(&whole.as_bytes()[..len], &mut out).unwrap();
            let values: Vec<serde_json::Value> = serde_json::from_slice(&out).unwrap();
            let cut = &whole[..len];
            assert_eq!(values.len(), entries.iter().filter(|entry| cut.contains(**entry)).count(), "{cut:?}");
        }
    }

    /// A folder that lacks the names of its last two files; `text` is what one of them has.
    fn without_names(text: &str) -> tempfile::TempDir {
        let above = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &[u8]| fs::write(above.path().join(name), text).unwrap();
        let unfinished = ResultSummary { interrupted: true, benchmark: "b".to_owned(), ..ResultSummary::default() };
        write(RESULT, &serde_json::to_vec(&unfinished).unwrap());
        write("named.txt", b"named");
        write(&format!(".{SUMMARY}.abc.part"), text.as_bytes());
        let sum = |text: &[u8]| hex::encode(Sha256::digest(text));
        let entry = |name: &str, text: &[u8]| FileEntry { name: name.to_owned(), bytes: 5, sha256: sum(text) };
        let result = ResultSummary { benchmark: "b".to_owned(), ..ResultSummary::default() };
        let result = result.with_files(&[entry("named.txt", b"named"), entry(SUMMARY, b"words")]);
        write(&format!(".{RESULT}.def.part"), &serde_json::to_vec(&result).unwrap());
        above
    }

    #[test]
    fn files_that_only_lack_their_names_get_them() {
        let folder = without_names("words");
        let result = recover(folder.path()).unwrap();
        assert!(!result.interrupted && result.files.len() == 2);
        assert_eq!(fs::read(folder.path().join(SUMMARY)).unwrap(), b"words");
        assert!(matches!(recover(folder.path()), Err(RecoverError::HasEnded(_))));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3, "no parts are left");
    }

    #[test]
    fn a_file_that_is_not_what_the_result_says_makes_it_no_result() {
        let folder = without_names("other");
        let result = recover(folder.path()).unwrap();
        assert!(result.interrupted && result.reasons == [WHY]);
        assert!(!folder.path().join(SUMMARY).exists());
    }
}
