//! Files beside the logs of another engine that led a run.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{BufReader, Read as _};
use std::path::{Path, PathBuf};

use lon_proto::files::{self, Limit, MAX_LINE_BYTES};

use super::folder::{FolderError, RunFolder};
use crate::outputs::documents::network_report::NetworkReport;
use crate::outputs::documents::qdl_result::{self, QdlResult};
use crate::outputs::documents::system_desc::{self, SystemDesc};
use crate::outputs::documents::{self, network_report};
use crate::outputs::report::{self, Source};
use crate::test_run::Finished;

/// The files that [`write()`] makes; the last one says whether the run can be used.
const FILES: [&str; 4] = [network_report::FILE, system_desc::FILE, report::FILE, qdl_result::FILE];

/// First characters of the official logs that have a verdict in them, whatever their names are.
const BEGINNINGS: [&str; 2] = [":::MLLOG", "====="];

/// Words in their names, with any prefix and suffix that the official LoadGen was told to give them.
const WORDS: [&str; 2] = ["summary", "detail"];

/// Suffix for the name of an official log whose verdict does not count.
const TAKEN_AWAY: &str = ".unusable";

/// Why nothing was written beside the logs of another engine.
#[derive(Debug, thiserror::Error)]
pub enum QdlFilesError {
    /// A file of ours is there already.
    #[error("{0} is there already: results are never overwritten; give another folder, or move it away")]
    Taken(PathBuf),
    /// The folder cannot be made, or a file in it cannot be written.
    #[error(transparent)]
    Folder(#[from] FolderError),
}

/// Makes the folder where it is missing, and tries whether it can be written to. Returns whether it was made.
///
/// # Errors
/// It cannot, or files of ours or logs with a verdict are there already.
pub fn prepare(folder: &Path) -> Result<bool, QdlFilesError> {
    let was_there = folder.exists();
    fs::create_dir_all(folder).map_err(|source| FolderError::Create { path: folder.to_owned(), source })?;
    check(folder)?;
    if let Some(log) = official_logs(folder).into_iter().find(|path| begins_like_a_log(path)) {
        return Err(QdlFilesError::Taken(log));
    }
    drop(RunFolder::of_earlier_run(folder).part(qdl_result::FILE)?);
    Ok(!was_there)
}

/// Checks that none of our files is in the folder.
fn check(folder: &Path) -> Result<(), QdlFilesError> {
    match FILES.iter().map(|name| folder.join(name)).find(|path| path.exists()) {
        Some(path) => Err(QdlFilesError::Taken(path)),
        None => Ok(()),
    }
}

/// Writes the network's side of a run into a folder, which is made where it is missing.
///
/// # Errors
/// Something could not be written, or is there already. `qdl_result.json` is missing then.
pub fn write(finished: &Finished, folder: &Path) -> Result<(), QdlFilesError> {
    fs::create_dir_all(folder).map_err(|source| FolderError::Create { path: folder.to_owned(), source })?;
    check(folder)?;
    let files = RunFolder::of_earlier_run(folder);
    let report = files.stage(network_report::FILE, |out| documents::write(out, &NetworkReport::from(finished)))?;
    let desc = files.stage(system_desc::FILE, |out| documents::write(out, &SystemDesc::from(finished)))?;
    let page = report::caught(|| Source::of_another(finished));
    let page = files.stage(report::FILE, |out| out.write_all(page?.as_bytes()))?;
    let entries = [files.keep(report)?, files.keep(desc)?, files.keep(page)?];
    let result = QdlResult::from(finished).with_files(&entries);
    let result = files.stage(qdl_result::FILE, |out| documents::write(out, &result))?;
    files.sync()?;
    files.claim(result)?;
    files.sync()?;
    Ok(())
}

/// Takes the word away from the official logs in the folder that say VALID, so that nobody takes them for a result.
pub fn take_away(folder: &Path) {
    official_logs(folder).iter().filter(|path| says_valid(path)).for_each(|path| remove_word(path));
}

/// The same of all official logs in the folder, whatever they say by now: their engine writes on into the files that it
/// has open, under whatever name.
pub fn take_all_away(folder: &Path) {
    official_logs(folder).iter().filter(|path| begins_like_a_log(path)).for_each(|path| remove_word(path));
}

/// Gives the log another name; where that cannot be, nothing is left in it.
fn remove_word(path: &Path) {
    let mut other = PathBuf::from(format!("{}{TAKEN_AWAY}", path.display()));
    let mut number = 1;
    while other.exists() {
        number += 1;
        other = PathBuf::from(format!("{}{TAKEN_AWAY}-{number}", path.display()));
    }
    let Err(renaming) = fs::rename(path, &other) else { return };
    if let Err(error) = File::options().write(true).truncate(true).open(path) {
        let log = path.display();
        tracing::error!(%log, %renaming, %error, "an official log may still say VALID; it does not count");
    }
}

/// Files that may be official logs with a verdict.
fn official_logs(folder: &Path) -> Vec<PathBuf> {
    let is_named_so = |path: &PathBuf| {
        let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
        name.ends_with(".txt") && WORDS.iter().any(|word| name.contains(word)) && path.is_file()
    };
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(is_named_so).collect()
}

/// Returns true when the file begins like an official log, or has nothing in it yet.
fn begins_like_a_log(path: &Path) -> bool {
    let mut begin = Vec::new();
    let length = files::open(path, Limit::DATA).and_then(|file| file.take(8).read_to_end(&mut begin));
    let is_begun =
        |beginning: &&str| beginning.as_bytes().starts_with(&begin) || begin.starts_with(beginning.as_bytes());
    length.is_err() || BEGINNINGS.iter().any(is_begun)
}

/// Returns true when a line of the file has the word VALID. A file that cannot be read may have it.
fn says_valid(path: &Path) -> bool {
    let Ok(file) = files::open(path, Limit::LOG) else { return true };
    let mut lines = files::lines(BufReader::new(file), MAX_LINE_BYTES);
    lines.any(|line| line.map_or(true, |line| has_word(line.as_bytes())))
}

/// The word alone, not as a part of INVALID.
fn has_word(text: &[u8]) -> bool {
    let word = b"VALID";
    let mut windows = text.windows(word.len()).enumerate();
    windows.any(|(at, window)| window == word && (at == 0 || !text[at - 1].is_ascii_alphabetic()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn logs_that_say_valid_lose_their_names_whatever_these_are() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("mlperf_log_summary.txt"), "=====\nResult is : INVALID\n").unwrap();
        fs::write(at("run1_summary_2.txt"), "=====\nResult is : VALID\n").unwrap();
        fs::write(at("mlperf_log_detail.txt"), ":::MLLOG {\"key\": \"result_validity\", \"value\": \"VALID\"}")
            .unwrap();
        fs::write(at("mine.txt"), "VALID").unwrap();
        take_away(folder.path());
        let file_names =
            ["mine.txt", "mlperf_log_detail.txt.unusable", "mlperf_log_summary.txt", "run1_summary_2.txt.unusable"];
        assert_eq!(names(folder.path()), file_names);
        // A name that is taken gets a number.
        fs::write(at("mlperf_log_detail.txt"), ":::MLLOG").unwrap();
        take_all_away(folder.path());
        assert!(at("mlperf_log_detail.txt.unusable-2").exists() && at("mlperf_log_summary.txt.unusable").exists());
    }

    #[test]
    fn files_that_are_there_are_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new");
        assert_eq!([prepare(&path).unwrap(), prepare(&path).unwrap()], [true, false]);
        assert_eq!(names(&path), [""; 0]);
        for (name, content) in [(qdl_result::FILE, ""), ("mlperf_log_summary.txt", "=====")] {
            fs::write(path.join(name), content).unwrap();
            assert!(prepare(&path).unwrap_err().to_string().contains("is there already"), "{name}");
            fs::remove_file(path.join(name)).unwrap();
        }
        assert!(prepare(Path::new("/proc/nope")).unwrap_err().to_string().contains("/proc/nope"));
    }
}
