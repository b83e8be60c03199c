//! The accuracy log of a run folder: whole, or truncated with the whole one in a backup.
//!
//! The official tool that prepares a submission (`truncate_accuracy_log.py`) keeps both ends of a log and moves the
//! whole one into a backup. It adds a line `hash=SHA256` to `accuracy.txt` beside the log, by which the whole one is
//! found again.

use std::io;
use std::path::{Path, PathBuf};

use lon_proto::files::{self, Limit};
use lon_proto::sums;
use serde::Deserialize;

use super::ACCURACY;

/// The file of the score beside the log, with the hash of the log as it was before it was truncated.
const SCORE: &str = "accuracy.txt";
/// Text that the official tool writes in place of the middle of a log.
pub const GAP: &str = "\n\n...\n\n";

/// One line of the log; keys that are not needed here are not read.
#[derive(Deserialize)]
pub struct Entry {
    /// Index of the sample in the dataset.
    pub qsl_idx: usize,
    /// The answer in hexadecimal digits.
    pub data: String,
}

/// A whole log.
pub struct Log {
    /// Its file: in the run folder, or in the backup.
    pub path: PathBuf,
    /// Its answers, in order.
    pub entries: Vec<Entry>,
}

/// Why there are no answers to read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file cannot be read.
    #[error("cannot read {0}")]
    Read(PathBuf, #[source] io::Error),
    /// The file is no accuracy log.
    #[error("{0} is not what a run writes")]
    Form(PathBuf, #[source] serde_json::Error),
    /// The folder has no hash of the log.
    #[error("{0} is truncated, and no {SCORE} beside it has a line hash=SHA256 to find the whole log by")]
    NoHash(PathBuf),
    /// No folder is named that has the whole log.
    #[error("{0} is truncated: --backup FOLDER says where the whole log is, whose SHA-256 is {1}")]
    NoBackup(PathBuf, String),
    /// No file of the backup has the hash of the whole log.
    #[error("{0} is truncated, and none of the {1} files in {2} has the SHA-256 of the whole log, {3}")]
    NotFound(PathBuf, usize, PathBuf, String),
    /// The log is another one than its hash says.
    #[error("{0} has the SHA-256 {1}, and {SCORE} beside it says {2}: it was changed after it was scored")]
    Changed(PathBuf, String, String),
}

/// A run folder's log. Where the log is truncated, the whole log, from whichever file in
/// `backup` or in the folders in it has the hash.
///
/// # Errors
/// A file cannot be read or is no accuracy log, the whole log is not found, or the log does not have the hash that is
/// stated beside it.
pub fn read(folder: &Path, backup: Option<&Path>) -> Result<Log, ReadError> {
    let path = folder.join(ACCURACY);
    let text = files::text(&path, Limit::LOG).map_err(|source| ReadError::Read(path.clone(), source))?;
    let hash = hash(&folder.join(SCORE))?;
    match (serde_json::from_str(&text), hash) {
        (Ok(entries), None) => Ok(Log { path, entries }),
        (Ok(entries), Some(hash)) => match sum(&path)? {
            sum if sum == hash => Ok(Log { path, entries }),
            sum => Err(ReadError::Changed(path, sum, hash)),
        },
        (Err(error), _) if !text.contains(GAP) => Err(ReadError::Form(path, error)),
        (Err(_), None) => Err(ReadError::NoHash(path)),
        (Err(_), Some(hash)) => {
            let Some(backup) = backup else { return Err(ReadError::NoBackup(path, hash)) };
            let files = files_in(backup)?;
            match find(&files, &hash)? {
                Some(whole) => Ok(Log { path: whole.to_owned(), entries: parse(whole)? }),
                None => Err(ReadError::NotFound(path, files.len(), backup.to_owned(), hash)),
            }
        }
    }
}

/// The hash that the file of the score tells, in lower case. `None`: there is no such file, or it tells none.
fn hash(path: &Path) -> Result<Option<String>, ReadError> {
    let text = match files::text(path, Limit::DOCUMENT) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        text => text.map_err(|source| ReadError::Read(path.to_owned(), source))?,
    };
    Ok(text.lines().find_map(|line| line.trim().strip_prefix("hash=").map(str::to_ascii_lowercase)))
}

/// The SHA-256 of a log, hexadecimal.
///
/// # Errors
/// It cannot be read.
pub fn sum(path: &Path) -> Result<String, ReadError> {
    let sum = files::open(path, Limit::DATA).and_then(sums::of);
    sum.map(|(sum, _)| sum).map_err(|source| ReadError::Read(path.to_owned(), source))
}

/// The files of a folder and of the folders in it, sorted. Links are not followed.
fn files_in(folder: &Path) -> Result<Vec<PathBuf>, ReadError> {
    let (mut files, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        let read_error = |source| ReadError::Read(folder.clone(), source);
        for entry in std::fs::read_dir(&folder).map_err(read_error)? {
            let entry = entry.map_err(read_error)?;
            match entry.file_type().map_err(read_error)? {
                kind if kind.is_dir() => folders.push(entry.path()),
                kind if kind.is_file() => files.push(entry.path()),
                _ => {}
            }
        }
    }
    files.sort();
    Ok(files)
}

/// The first of these files that has the hash.
fn find<'a>(files: &'a [PathBuf], hash: &str) -> Result<Option<&'a Path>, ReadError> {
    for file in files {
        if sum(file)? == hash {
            return Ok(Some(file));
        }
    }
    Ok(None)
}

fn parse(path: &Path) -> Result<Vec<Entry>, ReadError> {
    let text = files::text(path, Limit::LOG).map_err(|source| ReadError::Read(path.to_owned(), source))?;
    serde_json::from_str(&text).map_err(|error| ReadError::Form(path.to_owned(), error))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A log of `entries` answers, as a run writes it.
    fn log(entries: usize) -> String {
        let lines = (0..entries).map(|n| format!("{{ \"seq_id\" : {n}, \"qsl_idx\" : {n}, \"data\" : \"00\" }}"));
        format!("[\n{}\n]\n", lines.collect::<Vec<_>>().join(",\n"))
    }

    fn outcome_text(folder: &Path, backup: Option<&Path>) -> String {
        read(folder, backup)
            .map(|log| format!("{} entries", log.entries.len()))
            .unwrap_or_else(|error| error.to_string())
    }

    #[test]
    fn a_truncated_log_is_read_from_its_backup_by_its_hash() {
        let above = tempfile::tempdir().unwrap();
        let [run, backup] = ["run", "backup/closed/x/accuracy"].map(|name| above.path().join(name));
        for folder in [&run, &backup] {
            std::fs::create_dir_all(folder).unwrap();
        }
        let whole = log(500);
        let hash = sums::of(whole.as_bytes()).unwrap().0;
        let ends = format!("{}{GAP}{}", &whole[..4096], &whole[whole.len() - 4096..]);
        std::fs::write(run.join(ACCURACY), &ends).unwrap();
        let all = above.path().join("backup");
        assert!(outcome_text(&run, Some(&all)).contains("no accuracy.txt beside it has a line hash="));
        std::fs::write(run.join(SCORE), format!("accuracy=76.000%, good=38, total=50\n\nhash={hash}\n")).unwrap();
        let message = outcome_text(&run, None);
        assert!(message.contains("--backup FOLDER") && message.contains(&hash), "{message}");
        std::fs::write(backup.join("mlperf_log_accuracy.json"), log(499)).unwrap();
        let message = outcome_text(&run, Some(&all));
        assert!(message.contains("none of the 1 files in ") && message.contains(&hash), "{message}");
        std::fs::write(backup.join("other.json"), &whole).unwrap();
        assert_eq!(outcome_text(&run, Some(&all)), "500 entries");
        assert!(outcome_text(&run, Some(&above.path().join("nothing"))).contains("cannot read"));
    }

    #[test]
    fn a_whole_log_must_have_the_hash_that_is_told_of_it() {
        let run = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(run.path().join(name), text).unwrap();
        write(ACCURACY, &log(3));
        assert_eq!(outcome_text(run.path(), None), "3 entries");
        let hash = sums::of(log(3).as_bytes()).unwrap().0;
        write(SCORE, &format!("hash={}\n", hash.to_ascii_uppercase()));
        assert_eq!(outcome_text(run.path(), None), "3 entries");
        write(ACCURACY, &log(4));
        let message = outcome_text(run.path(), None);
        assert!(message.contains("was changed after it was scored") && message.contains(&hash), "{message}");
        write(ACCURACY, "[\n{");
        assert!(outcome_text(run.path(), None).contains("is not what a run writes"));
    }
}
