//! Source of a page: a run that is over, or its folder, read again.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use loadgen::plan::Plan;
use loadgen::recorder::{StoredTimeline, Timeline};
use lon_proto::files::{self, Limit};
use lon_shell::documents::of_text;
use serde::de::DeserializeOwned;

use super::diagram;
use super::series::Series;
use crate::outputs::documents::network_report::{self, NetworkReport};
use crate::outputs::documents::qdl_result::{self, QdlResult, QdlState};
use crate::outputs::documents::result_summary::{self, ResultSummary};
use crate::outputs::documents::system_desc::{self, SystemDesc};
use crate::outputs::logs::{self, own_result};
use crate::outputs::timeline::stored_timeline;
use crate::test_run::Finished;

/// Data of a run for its page.
pub struct Source {
    /// The result of the run.
    pub result: ResultSummary,
    /// Of a run that another engine led: whether its logs can be used. The result has no verdict and no latencies then.
    pub by_another: Option<QdlState>,
    /// The network report, where there is one.
    pub network: Option<NetworkReport>,
    /// The description of the system, where there is one.
    pub system: Option<SystemDesc>,
    /// The picture of the system, as SVG.
    pub diagram: Option<String>,
    /// The curves of the measured phase.
    pub series: Option<Series>,
    /// Parts that are not shown, each with the reason.
    pub missing: Vec<String>,
    /// Documents that the run did not come to write.
    pub never_written: Vec<&'static str>,
}

impl Source {
    /// Returns true when all samples are due at the start, so that most of a latency is the time of others.
    pub fn is_pulled(&self) -> bool {
        self.result.settings.scenario.is_one_query()
    }

    /// Of a run that is over. Its page is the one that its folder gives later.
    pub(crate) fn of(finished: &Finished) -> Source {
        let (system, outcome) = (SystemDesc::from(finished), &finished.outcome);
        let mut missing = Vec::new();
        let timeline = outcome.performance().and_then(|phase| phase.timeline.as_ref());
        let curves = timeline.map(|timeline| curves(outcome.judged_plan(&finished.setup.plan), timeline)).transpose();
        let series = optional_series(curves, &mut missing);
        Source {
            result: ResultSummary::from(finished),
            by_another: None,
            network: Some(NetworkReport::from(finished)),
            diagram: Some(diagram::svg(&system)),
            system: Some(system),
            series,
            missing,
            never_written: Vec::new(),
        }
    }

    /// Of a run that another engine led. What it measured stands in its own logs.
    pub(crate) fn of_another(finished: &Finished) -> Source {
        let qdl_document = QdlResult::from(finished);
        let (state, result) = (qdl_document.state, ResultSummary::from(qdl_document));
        Source { result, by_another: Some(state), series: None, missing: Vec::new(), ..Source::of(finished) }
    }

    /// Of a run whose program was killed: what its folder has, with this result and these samples.
    pub(crate) fn recovered(folder: &Path, result: ResultSummary, stored: Option<&StoredTimeline>) -> Source {
        let curves =
            stored.map(|stored| curves(&stored_timeline::plan(folder, &stored.about, &result)?, &stored.timeline));
        Source::with(folder, result, None, curves.transpose())
    }

    /// Reads a run folder. What is not there, or not as the run wrote it, is left out, and the page says so.
    ///
    /// # Errors
    /// The folder has no result that can be read.
    pub fn read(folder: &Path) -> Result<Source> {
        let by_another = folder.join(qdl_result::FILE);
        if by_another.exists() && !folder.join(result_summary::FILE).exists() {
            let qdl_document: QdlResult = document(&by_another)?;
            let state = qdl_document.state;
            return Ok(Source::with(folder, ResultSummary::from(qdl_document), Some(state), Ok(None)));
        }
        let result = own_result::read(folder)?;
        let curves = stored_curves(folder, &result);
        Ok(Source::with(folder, result, None, curves))
    }

    /// This result and these curves, with what the folder has of the network and the system.
    fn with(
        folder: &Path,
        result: ResultSummary,
        by_another: Option<QdlState>,
        curves: Result<Option<Series>>,
    ) -> Source {
        let mut missing = Vec::new();
        // A run that was killed has written some documents only.
        let is_written = |name: &&'static str| folder.join(name).exists() || result.files.contains_key(*name);
        let present_name = |name: &'static str| Some(name).filter(is_written);
        let network = present_name(network_report::FILE).and_then(|name| optional(folder, name, &result, &mut missing));
        let system: Option<SystemDesc> =
            present_name(system_desc::FILE).and_then(|name| optional(folder, name, &result, &mut missing));
        let never_written = [network_report::FILE, system_desc::FILE].into_iter().filter(|name| !is_written(name));
        let never_written = never_written.collect();
        let diagram = system.as_ref().map(diagram::svg);
        let series = optional_series(curves, &mut missing);
        Source { result, by_another, network, system, diagram, series, missing, never_written }
    }
}

fn document<T: DeserializeOwned>(path: &Path) -> Result<T> {
    let path_text = || path.display().to_string();
    of_text(&files::text(path, Limit::DOCUMENT).with_context(path_text)?).with_context(path_text)
}

/// A document of the folder, which has to be the one that the result lists. What is wrong with it is noted.
fn optional<T: DeserializeOwned>(
    folder: &Path,
    name: &str,
    result: &ResultSummary,
    missing: &mut Vec<String>,
) -> Option<T> {
    let loader = || {
        let text = files::text(&folder.join(name), Limit::DOCUMENT)?;
        let is_own = result.files.get(name).is_none_or(|listed| listed.holds(&text));
        ensure!(is_own, "it is not what the run wrote: {} lists another SHA-256", result_summary::FILE);
        Ok(of_text(&text)?)
    };
    loader().map_err(|why| missing.push(format!("{name}: {why:#}"))).ok()
}

/// The curves, if there are any. Why there are none is noted, unless nothing was measured.
fn optional_series(curves: Result<Option<Series>>, missing: &mut Vec<String>) -> Option<Series> {
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
    curves(&stored_timeline::plan(folder, &stored.about, result)?, &stored.timeline).map(Some)
}

/// The curves of what was measured by a plan.
fn curves(plan: &Plan, timeline: &Timeline) -> Result<Series> {
    let phase = plan.phases().iter().find(|phase| !phase.is_accuracy()).context("the plan measures nothing")?;
    let starts_ns = timeline.starts(phase, plan.effective().shape);
    Series::of(timeline, starts_ns).context("the latencies cannot be counted")
}
