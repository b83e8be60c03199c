//! What a page is made of: a run that is over, or its folder, read again.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use loadgen::plan::Plan;
use loadgen::recorder::Timeline;
use serde::de::DeserializeOwned;

use super::series::Series;
use crate::outputs::documents::network_report::{self, NetworkReport};
use crate::outputs::documents::result_summary::{self, ResultSummary};
use crate::outputs::documents::system_desc::{self, SystemDesc};
use crate::outputs::{diagram, logs, stored_timeline};
use crate::test_run::Finished;

/// What is known of a run.
pub(crate) struct Source {
    pub(crate) result: ResultSummary,
    pub(crate) network: Option<NetworkReport>,
    pub(crate) system: Option<SystemDesc>,
    /// The picture of the system, as SVG.
    pub(crate) diagram: Option<String>,
    /// The curves of the measured phase.
    pub(crate) series: Option<Series>,
    /// What is not shown, and why.
    pub(crate) missing: Vec<String>,
}

impl Source {
    /// Of a run that is over. Its page is the one that its folder gives later.
    pub(crate) fn of(finished: &Finished) -> Source {
        let (system, outcome) = (SystemDesc::from(finished), &finished.outcome);
        let mut missing = Vec::new();
        let timeline = outcome.performance().and_then(|phase| phase.timeline.as_ref());
        let curves = timeline.map(|timeline| curves(outcome.judged_plan(&finished.setup.plan), timeline)).transpose();
        let series = shown(curves, &mut missing);
        Source {
            result: ResultSummary::from(finished),
            network: Some(NetworkReport::from(finished)),
            diagram: Some(diagram::svg(&system)),
            system: Some(system),
            series,
            missing,
        }
    }

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
        let series = shown(stored_curves(folder, &result), &mut missing);
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

/// The curves, if there are any. Why there are none is noted, unless nothing was measured.
fn shown(curves: Result<Option<Series>>, missing: &mut Vec<String>) -> Option<Series> {
    curves.unwrap_or_else(|why| {
        missing.push(format!("curves: {why:#}"));
        None
    })
}

/// The curves of the stored timeline, which has to be the one that the result lists. None: the run has measured
/// nothing.
fn stored_curves(folder: &Path, result: &ResultSummary) -> Result<Option<Series>> {
    let path = folder.join(logs::TIMELINE);
    if !path.exists() && !result.files.contains_key(logs::TIMELINE) {
        return Ok(None);
    }
    let stored = stored_timeline::read(&path)?;
    curves(&stored_timeline::plan(&stored, result)?, &stored.timeline).map(Some)
}

/// The curves of what was measured by a plan.
fn curves(plan: &Plan, timeline: &Timeline) -> Result<Series> {
    let phase = plan.phases().iter().find(|phase| !phase.is_accuracy()).context("the plan measures nothing")?;
    let starts_ns = timeline.starts(phase, plan.requested().scenario.pacing());
    Series::of(timeline, starts_ns).context("the latencies cannot be counted")
}
