//! A run folder, read for its report.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use loadgen::plan::Plan;
use loadgen::recorder::StoredTimeline;
use serde::de::DeserializeOwned;

use super::series::Series;
use crate::outputs::documents::network_report::{self, NetworkReport};
use crate::outputs::documents::result_summary::{self, ResultSummary};
use crate::outputs::documents::system_desc::{self, SystemDesc};
use crate::outputs::{diagram, logs, stored_timeline};

/// What is known of a run.
pub(crate) struct Source {
    pub(super) result: ResultSummary,
    pub(super) network: Option<NetworkReport>,
    pub(super) system: Option<SystemDesc>,
    /// The picture of the system, as SVG.
    pub(super) diagram: Option<String>,
    /// The curves of the measured phase.
    pub(super) series: Option<Series>,
    /// What is not shown, and why.
    pub(super) missing: Vec<String>,
}

impl Source {
    /// Reads a run folder. What is not there, or not as the run wrote it, is left out, and the page says so.
    ///
    /// # Errors
    /// The folder has no result that can be read.
    pub(crate) fn read(folder: &Path) -> Result<Source> {
        let told = || format!("{} is not a run folder", folder.display());
        let result: ResultSummary = document(&folder.join(result_summary::FILE)).with_context(told)?;
        let mut missing = Vec::new();
        let network = optional(folder, network_report::FILE, &mut missing);
        let system: Option<SystemDesc> = optional(folder, system_desc::FILE, &mut missing);
        let diagram = system.as_ref().map(diagram::svg);
        let series = match series(folder, &result) {
            Ok(series) => series,
            Err(why) => {
                missing.push(format!("curves: {why:#}"));
                None
            }
        };
        Ok(Source { result, network, system, diagram, series, missing })
    }
}

fn document<T: DeserializeOwned>(path: &Path) -> Result<T> {
    let shown = || path.display().to_string();
    serde_json::from_str(&fs::read_to_string(path).with_context(shown)?).with_context(shown)
}

fn optional<T: DeserializeOwned>(folder: &Path, name: &str, missing: &mut Vec<String>) -> Option<T> {
    document(&folder.join(name)).map_err(|why| missing.push(format!("{name}: {why:#}"))).ok()
}

/// The curves of the timeline, which has to be the one that the result lists. None: the run has measured nothing.
fn series(folder: &Path, result: &ResultSummary) -> Result<Option<Series>> {
    let path = folder.join(logs::TIMELINE);
    if !path.exists() && !result.files.contains_key(logs::TIMELINE) {
        return Ok(None);
    }
    let StoredTimeline { about, timeline } = stored_timeline::read(&path)?;
    let pacing = about.settings.scenario.pacing();
    let plan = Plan::with_profile(about.settings, about.qsl, result.profile().unwrap_or_default())?;
    let phase = plan.phases().iter().find(|phase| !phase.is_accuracy()).context("the plan measures nothing")?;
    let starts_ns = timeline.starts(phase, pacing);
    Ok(Some(Series::of(&timeline, starts_ns).context("the latencies cannot be counted")?))
}
