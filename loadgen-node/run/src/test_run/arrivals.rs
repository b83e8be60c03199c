//! The arrival process of a test: the files that its text names are read here, since the engine reads none.

use std::io::BufReader;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use lon_proto::files::{self, Limit};
use lon_qsl::arrivals::{ArrivalTrace, TraceSpec};
use serde_json::Value;

use crate::exit::{Exit, OrExit as _, Outcome};
use loadgen::plan::Plan;
use loadgen::recorder::{StoredTimeline, Timeline};
use loadgen::settings::TestSettings;
use loadgen::trace::Trace;
use loadgen::traffic::arrivals::{Arrivals, DueTimes, parse};

/// Name in a run folder of the due times of a trace, and of the timeline whose due times can be sent again.
pub(crate) const DUE_TIMES: &str = "arrivals.csv";
const TIMELINE: &str = "timeline.bin";

/// The text of a process without names of files where the engine wants their content: `mmpp:FILE` becomes its JSON.
pub(super) fn resolved(text: &str) -> Outcome<String> {
    match text.strip_prefix("mmpp:") {
        Some(file) if !file.trim_start().starts_with('{') => Ok(format!("mmpp:{}", json(Path::new(file))?)),
        _ => Ok(text.to_owned()),
    }
}

/// The JSON of a file, on one line.
fn json(path: &Path) -> Outcome<String> {
    let text = files::user_text(path);
    let text = text.with_context(|| format!("--arrivals mmpp: cannot read {}", path.display())).or_exit(Exit::Usage)?;
    let value: Value = serde_json::from_str(&text)
        .with_context(|| format!("--arrivals mmpp: {} is no JSON", path.display()))
        .or_exit(Exit::Usage)?;
    Ok(value.to_string())
}

/// The due times of the trace that the settings name; `None` where they name none.
///
/// # Errors
/// The file cannot be read, or is no trace (exit code 2).
pub(super) fn due_times(settings: &TestSettings) -> Outcome<Option<DueTimes>> {
    let text = loadgen::traffic::arrivals_text(settings);
    let Some(Ok(Arrivals::Listed(listed))) = text.map(parse) else { return Ok(None) };
    if let Some(path) = timeline(Path::new(&listed.source)) {
        let path_text = path.display().to_string();
        return of_timeline(&path)
            .with_context(|| format!("--arrivals trace: {path_text}"))
            .or_exit(Exit::Usage)
            .map(Some);
    }
    let spec: TraceSpec = listed.source.parse().context("--arrivals trace").or_exit(Exit::Usage)?;
    let trace = read(&spec, settings.schedule_rng_seed).or_exit(Exit::Usage)?;
    let facts = &trace.facts;
    let (format, rows, dropped) = (facts.format, facts.rows, facts.dropped.failed + facts.dropped.outside_window);
    tracing::info!(%format, rows, dropped, sha256 = %facts.sha256, "arrivals: trace read");
    if trace.samples.is_some() {
        tracing::info!("arrivals: the trace chooses the sample of each query, in place of the seeds");
    }
    Ok(Some(times(trace)))
}

fn read(spec: &TraceSpec, seed: u64) -> anyhow::Result<ArrivalTrace> {
    // Seeds act modulo 2^32, as those of the engine.
    lon_qsl::arrivals::read(spec, seed as u32).context("--arrivals trace")
}

/// The due times that a run folder keeps of a trace; `None` where it keeps none.
///
/// # Errors
/// The file cannot be read, or is not what a run writes.
pub(crate) fn stored_due_times(folder: &Path) -> anyhow::Result<Option<DueTimes>> {
    let path = folder.join(DUE_TIMES);
    if !path.exists() {
        return Ok(None);
    }
    let trace = read(&TraceSpec::of(path), 0)?;
    Ok(Some(times(trace)))
}

fn times(trace: ArrivalTrace) -> DueTimes {
    let ArrivalTrace { due_ns, samples, repeat_ns, .. } = trace;
    DueTimes { due_ns: due_ns.into(), samples: samples.map(Into::into), repeat_ns }
}

/// The timeline that a path means: the file itself, or that of a run folder.
fn timeline(path: &Path) -> Option<PathBuf> {
    let inside = path.join(TIMELINE);
    let is_timeline = path.file_name().is_some_and(|name| name == TIMELINE);
    if is_timeline { Some(path.to_owned()) } else { inside.is_file().then_some(inside) }
}

/// The due times of a run of ours, drawn again from its settings.
fn of_timeline(path: &Path) -> anyhow::Result<DueTimes> {
    let file = files::open(path, Limit::DATA).context("cannot be read")?;
    let StoredTimeline { about, timeline } = Timeline::read_from(&mut BufReader::with_capacity(1 << 20, file))?;
    let folder = path.parent().unwrap_or(Path::new("."));
    let plan =
        Plan::with_due_times(about.settings, about.qsl, loadgen::settings::Profile::NEWEST, stored_due_times(folder)?)?;
    let phase = plan.phases().iter().find(|phase| !phase.is_accuracy()).context("its run measured nothing")?;
    if !plan.effective().shape.has_schedule() {
        return Err(anyhow!("its queries had no due times: they waited for answers"));
    }
    let queries = usize::try_from(timeline.queries).unwrap_or(usize::MAX);
    let due_ns: Vec<u64> = Trace::new(phase).take(queries).map(|query| query.due_ns).collect();
    Ok(DueTimes { due_ns: due_ns.into(), samples: None, repeat_ns: None })
}
