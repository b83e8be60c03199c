//! What is written beside the logs of another engine that led a run.

use std::fs;
use std::path::{Path, PathBuf};

use super::documents;
use super::documents::network_report::{self, NetworkReport};
use super::documents::qdl_result::{self, QdlResult};
use super::documents::system_desc::{self, SystemDesc};
use super::folder::{FolderError, RunFolder};
use crate::test_run::Finished;

/// The files that [`write()`] makes; the last one says whether the run can be used.
const FILES: [&str; 3] = [network_report::FILE, system_desc::FILE, qdl_result::FILE];

/// Logs of the official LoadGen that have its verdict in them.
const OFFICIAL: [&str; 2] = ["mlperf_log_summary.txt", "mlperf_log_detail.txt"];

/// What is added to the name of an official log whose verdict does not count.
const TAKEN_AWAY: &str = ".unusable";

/// Why nothing was written beside the logs of another engine.
#[derive(Debug, thiserror::Error)]
pub enum BesideError {
    /// A file of ours is there already.
    #[error("{0} is there already: results are never overwritten; give another folder, or move it away")]
    Taken(PathBuf),
    /// The folder cannot be made, or a file in it cannot be written.
    #[error(transparent)]
    Folder(#[from] FolderError),
}

/// Whether the folder can take the files: none of them is there.
///
/// # Errors
/// The first that is there.
pub fn check(folder: &Path) -> Result<(), BesideError> {
    match FILES.iter().map(|name| folder.join(name)).find(|path| path.exists()) {
        Some(path) => Err(BesideError::Taken(path)),
        None => Ok(()),
    }
}

/// Writes the network's side of a run into a folder, which is made where it is missing, and takes the word away from
/// official logs there whose verdict does not count.
///
/// # Errors
/// Something could not be written, or is there already. `qdl_result.json` is missing then.
pub fn write(finished: &Finished, folder: &Path) -> Result<(), BesideError> {
    fs::create_dir_all(folder).map_err(|source| FolderError::Create { path: folder.to_owned(), source })?;
    check(folder)?;
    let files = RunFolder::of_earlier_run(folder);
    let report = files.stage(network_report::FILE, |out| documents::write(out, &NetworkReport::from(finished)))?;
    let desc = files.stage(system_desc::FILE, |out| documents::write(out, &SystemDesc::from(finished)))?;
    let written = [files.keep(report)?, files.keep(desc)?];
    let result = QdlResult::from(finished).with_files(&written);
    if !finished.outcome.verdict.is_valid() {
        take_away(folder)?;
    }
    let result = files.stage(qdl_result::FILE, |out| documents::write(out, &result))?;
    files.sync()?;
    files.keep(result)?;
    files.sync()?;
    Ok(())
}

/// Renames the official logs in the folder that say VALID, so that nobody takes them for a result.
///
/// # Errors
/// A log cannot be renamed.
pub fn take_away(folder: &Path) -> Result<(), FolderError> {
    for path in OFFICIAL.map(|name| folder.join(name)) {
        let says_valid = fs::read(&path).is_ok_and(|text| says_valid(&text));
        if says_valid {
            let other = PathBuf::from(format!("{}{TAKEN_AWAY}", path.display()));
            fs::rename(&path, &other).map_err(|source| FolderError::Write { path: other, source })?;
        }
    }
    Ok(())
}

/// The word alone, not as a part of INVALID.
fn says_valid(text: &[u8]) -> bool {
    let word = b"VALID";
    let mut windows = text.windows(word.len()).enumerate();
    windows.any(|(at, window)| window == word && (at == 0 || !text[at - 1].is_ascii_alphabetic()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_that_say_valid_lose_their_names() {
        let folder = tempfile::tempdir().unwrap();
        let summary = folder.path().join(OFFICIAL[0]);
        fs::write(&summary, "Result is : INVALID\n").unwrap();
        take_away(folder.path()).unwrap();
        assert!(summary.exists());
        fs::write(&summary, "Result is : VALID\n").unwrap();
        take_away(folder.path()).unwrap();
        assert!(!summary.exists() && folder.path().join("mlperf_log_summary.txt.unusable").exists());
    }

    #[test]
    fn files_that_are_there_are_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        check(folder.path()).unwrap();
        fs::write(folder.path().join(qdl_result::FILE), "").unwrap();
        assert!(check(folder.path()).unwrap_err().to_string().contains("is there already"));
    }
}
