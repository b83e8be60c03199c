//! The files that an official LoadGen leaves, read from their folder.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use anyhow::{Context as _, Result};
use loadgen::official::{
    ACCURACY_FILE, DETAIL_FILE, DetailLog, LogError, Logs, SUMMARY_FILE, TRACE_FILE, TokenCounts, TraceLog,
};

/// Bytes that are read at once.
const PIECE: usize = 1 << 20;

/// Reads the logs of a folder. Detail log and summary must be there; the others are used where they are.
///
/// # Errors
/// A file cannot be read, or is not what an official LoadGen writes.
pub(crate) fn read(folder: &Path) -> Result<Logs> {
    let text = |name: &str| {
        let path = folder.join(name);
        std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))
    };
    for name in [DETAIL_FILE, SUMMARY_FILE, TRACE_FILE, ACCURACY_FILE] {
        let path = folder.join(name);
        // A pipe would be waited for without end.
        let is_other = path.metadata().is_ok_and(|data| !data.is_file());
        anyhow::ensure!(!is_other, "{} is no file", path.display());
    }
    let of_folder = || folder.display().to_string();
    Ok(Logs {
        detail: DetailLog::read(&text(DETAIL_FILE)?).with_context(of_folder)?,
        summary: text(SUMMARY_FILE)?,
        trace: stream(folder, TRACE_FILE, |file| TraceLog::read(file))?.flatten(),
        tokens: stream(folder, ACCURACY_FILE, |file| TokenCounts::read(file))?,
    })
}

/// Reads a file line by line, if it is there.
fn stream<T>(
    folder: &Path,
    name: &str,
    read: impl FnOnce(&mut dyn BufRead) -> Result<T, LogError>,
) -> Result<Option<T>> {
    let path = folder.join(name);
    let file = match File::open(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        opened => opened.with_context(|| format!("cannot read {}", path.display()))?,
    };
    let mut file = BufReader::with_capacity(PIECE, file);
    read(&mut file).map(Some).with_context(|| folder.display().to_string())
}
