//! The stored timeline of a run, read.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use anyhow::{Context as _, Result, anyhow};
use loadgen::plan::Plan;
use loadgen::recorder::{About, CheckedTimeline, StoredTimeline, Timeline};
use lon_proto::sums::Summing;

use super::documents::result_summary::{self, ResultSummary};
use super::logs::TIMELINE;

/// Reads a timeline, or that of a run folder. It has to be the one that the result beside it lists, where there is one
/// that knows it.
///
/// # Errors
/// The file cannot be read, is no timeline, or is another one.
pub(crate) fn read(path: &Path) -> Result<StoredTimeline> {
    let in_folder = path.is_dir().then(|| path.join(TIMELINE));
    let path = in_folder.as_deref().unwrap_or(path);
    let shown = || path.display().to_string();
    let file = File::open(path).with_context(|| format!("cannot read {}", shown()))?;
    let mut file = Summing::new(BufReader::with_capacity(1 << 20, file));
    let stored = Timeline::read_from(&mut file).with_context(shown)?;
    check_sum(path, &file.finish().0)?;
    Ok(stored)
}

/// Checks a timeline as [`read`] does, and keeps nothing of its samples.
///
/// # Errors
/// The file cannot be read, is no timeline, or is another one.
pub(crate) fn check(path: &Path) -> Result<CheckedTimeline> {
    let shown = || path.display().to_string();
    let file = File::open(path).with_context(|| format!("cannot read {}", shown()))?;
    let mut file = Summing::new(BufReader::with_capacity(1 << 20, file));
    let checked = CheckedTimeline::check(&mut file).with_context(shown)?;
    check_sum(path, &file.finish().0)?;
    Ok(checked)
}

/// The plan by which a timeline was made. The result beside it says by which rules traffic was drawn.
///
/// # Errors
/// Its settings give no plan.
pub(crate) fn plan(about: &About, result: &ResultSummary) -> Result<Plan> {
    Ok(Plan::with_profile(about.settings.clone(), about.qsl, result.profile().unwrap_or_default())?)
}

/// Holds a file of a run folder against the result of its run, where that lies beside it and knows it. `sha256`: that
/// of the file, hexadecimal.
///
/// # Errors
/// The result cannot be read, or lists another sum.
pub(crate) fn check_sum(path: &Path, sha256: &str) -> Result<()> {
    let result = path.with_file_name(result_summary::FILE);
    let Ok(text) = std::fs::read_to_string(&result) else { return Ok(()) };
    let result = ResultSummary::of_text(&text).with_context(|| result.display().to_string())?;
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    match result.files.get(name) {
        Some(listed) if listed.sha256 != sha256 => Err(anyhow!(
            "{} is not what the run wrote: {} beside it has another SHA-256 of it; judge the original",
            path.display(),
            result_summary::FILE
        )),
        _ => Ok(()),
    }
}
