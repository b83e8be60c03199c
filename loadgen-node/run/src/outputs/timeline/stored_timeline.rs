//! The stored timeline of a run, read.

use std::io::BufReader;
use std::path::Path;

use crate::test_run::arrivals;
use anyhow::{Context as _, Result, anyhow};
use loadgen::plan::Plan;
use loadgen::recorder::{About, CheckedTimeline, StoredTimeline, Timeline};
use loadgen::settings::Mode;
use loadgen::v05::later_records;
use loadgen::v05::settings::Settings;
use loadgen::v05::test::TestInput;
use lon_proto::files::{self, Limit};
use lon_proto::sums::Summing;
use lon_proto::text::on_one_line;

use crate::outputs::documents::result_summary::{self, ResultSummary};
use crate::outputs::logs::TIMELINE;

/// Reads a timeline, or that of a run folder. It has to be the one that the result beside it lists, where there is one
/// that knows it.
///
/// # Errors
/// The file cannot be read, is no timeline, or is another one.
pub fn read(path: &Path) -> Result<StoredTimeline> {
    let in_folder = path.is_dir().then(|| path.join(TIMELINE));
    let path = in_folder.as_deref().unwrap_or(path);
    let path_text = || path.display().to_string();
    let file = files::open(path, Limit::DATA).with_context(|| format!("cannot read {}", path_text()))?;
    let mut file = Summing::new(BufReader::with_capacity(1 << 20, file));
    let mut stored = Timeline::read_from(&mut file).with_context(path_text)?;
    check_sum(path, &file.finish().0)?;
    clean(&mut stored.about);
    Ok(stored)
}

/// Leaves of its texts what can be seen.
pub(crate) fn clean(about: &mut About) {
    about.sut_name = on_one_line(&about.sut_name);
    about.reasons.iter_mut().for_each(|reason| reason.text = on_one_line(&reason.text));
}

/// Checks a timeline as [`read`] does, and keeps nothing of its samples.
///
/// # Errors
/// The file cannot be read, is no timeline, or is another one.
pub(crate) fn check(path: &Path) -> Result<CheckedTimeline> {
    let path_text = || path.display().to_string();
    let file = files::open(path, Limit::DATA).with_context(|| format!("cannot read {}", path_text()))?;
    let mut file = Summing::new(BufReader::with_capacity(1 << 20, file));
    let checked = CheckedTimeline::check(&mut file).with_context(path_text)?;
    check_sum(path, &file.finish().0)?;
    Ok(checked)
}

/// The plan by which the timeline of a run folder was made. The result beside it says by which rules traffic was drawn,
/// and a file has the due times of a trace.
///
/// # Errors
/// Its settings give no plan, or the due times cannot be read.
pub(crate) fn plan(folder: &Path, about: &About, result: &ResultSummary) -> Result<Plan> {
    if let Some(settings) = &result.settings_v0_5 {
        // A search has found one of these two, which the timeline has.
        let settings = Settings {
            mode: Mode::PerformanceOnly,
            server_target_qps: about.settings.server_target_qps,
            multi_stream_samples_per_query: about.settings.multi_stream_samples_per_query,
            ..settings.clone()
        };
        return Ok(later_records::plan(&TestInput { settings, qsl: about.qsl, integers: result.integers })?);
    }
    let (profile, times) = (result.profile().unwrap_or_default(), arrivals::stored_due_times(folder)?);
    Ok(Plan::with_due_times(about.settings.clone(), about.qsl, profile, times)?)
}

/// Holds a file of a run folder against the result of its run, where that lies beside it. `sha256`: that of the file,
/// hexadecimal.
///
/// # Errors
/// The result cannot be read, does not list the file, or lists another sum.
pub fn check_sum(path: &Path, sha256: &str) -> Result<()> {
    let result = path.with_file_name(result_summary::FILE);
    if !result.exists() {
        return Ok(());
    }
    let text = files::text(&result, Limit::DOCUMENT).with_context(|| format!("cannot read {}", result.display()))?;
    let result = ResultSummary::of_text(&text).with_context(|| result.display().to_string())?;
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    match result.files.get(name) {
        Some(listed) if listed.sha256 == sha256 => Ok(()),
        Some(_) => Err(anyhow!(
            "{} is not what the run wrote: {} beside it has another SHA-256 of it; judge the original",
            path.display(),
            result_summary::FILE
        )),
        None if result.is_unfinished() => Err(anyhow!(
            "{}: the run of its folder has not ended, so that this is of another one, or not whole: loadgen-node \
             recover makes a result of what there is",
            path.display()
        )),
        // It says of no file what it was.
        None if result.files.is_empty() => Ok(()),
        None => Err(anyhow!("{}: {} beside it does not list it", path.display(), result_summary::FILE)),
    }
}
