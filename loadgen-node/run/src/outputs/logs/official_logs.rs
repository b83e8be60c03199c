//! The files that an official LoadGen leaves, read from their folder.

use std::io::{self, BufReader};
use std::path::Path;

use anyhow::{Context as _, Result};
use loadgen::official::{
    ACCURACY_FILE, DETAIL_FILE, DetailLog, LogError, Logs, SUMMARY_FILE, TRACE_FILE, TokenCounts, TraceLog,
};
use lon_proto::files::{self, Limit, MAX_LINE_BYTES};
use lon_proto::text::{on_lines, on_one_line};

/// Bytes that are read at once.
const PIECE: usize = 1 << 20;

/// Reads the logs of a folder. Detail log and summary must be there; the others are used where they are.
///
/// # Errors
/// A file cannot be read, or is not what an official LoadGen writes.
pub fn read(folder: &Path) -> Result<Logs> {
    let cannot = |name: &str| format!("cannot read {}", folder.join(name).display());
    let detail =
        stream(folder, DETAIL_FILE, |lines| DetailLog::read(lines.map(|line| line.map(|line| on_one_line(&line)))))?;
    let summary = files::text(&folder.join(SUMMARY_FILE), Limit::DOCUMENT);
    Ok(Logs {
        detail: detail.with_context(|| format!("{} has no {DETAIL_FILE}", folder.display()))?,
        summary: on_lines(&summary.with_context(|| cannot(SUMMARY_FILE))?.replace("\r\n", "\n")),
        trace: stream(folder, TRACE_FILE, |lines| TraceLog::read(lines))?.flatten(),
        tokens: stream(folder, ACCURACY_FILE, |lines| TokenCounts::read(lines))?,
    })
}

/// Reads a file line by line, if it is there.
fn stream<T>(
    folder: &Path,
    name: &str,
    parser: impl FnOnce(&mut dyn Iterator<Item = io::Result<String>>) -> Result<T, LogError>,
) -> Result<Option<T>> {
    let path = folder.join(name);
    let file = match files::open(&path, Limit::LOG) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened.with_context(|| format!("cannot read {}", path.display()))?,
    };
    let mut lines = files::lines(BufReader::with_capacity(PIECE, file), MAX_LINE_BYTES);
    parser(&mut lines).map(Some).with_context(|| folder.display().to_string())
}
