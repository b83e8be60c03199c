//! The samples of a run folder, read one by one: timeline, traffic, and node and stages where they were recorded.

use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use loadgen::plan::{PhasePlan, Plan};
use loadgen::recorder::{CheckedTimeline, SampleEnd, Starts};
use loadgen::trace::Indices;
use lon_proto::files::{self, Limit};

use crate::outputs::documents::result_summary::ResultSummary;
use crate::outputs::logs;
use crate::outputs::timeline::stages::stored::{self, SampleStages, StoredStages};
use crate::outputs::timeline::{stages, stored_timeline};
use lon_world::tally::{BEFORE_SENDING, STAGES};

/// Records of the samples of a run.
pub struct Recording {
    path: PathBuf,
    plan: Plan,
    /// The rules by which traffic was drawn are known, so that it can be drawn again.
    is_drawn: bool,
    timeline: CheckedTimeline,
    stages: Option<StoredStages>,
}

/// Record of one sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Its number, from 0, in the order in which samples were issued.
    pub sample: u64,
    /// The number of its query, from 0.
    pub query: u64,
    /// Its index in the dataset, from 0; none where the rules by which it was drawn are not known.
    pub qsl_idx: Option<u64>,
    /// When its latency started, ns from the start of the phase.
    pub start_ns: u64,
    /// Its latency, ns; none where it was not answered.
    pub latency_ns: Option<u64>,
    /// Outcome of the sample: `answered`, `failed` or `lost`.
    pub end: &'static str,
    /// Latency of its first token, ns; none where none came, and without token latencies.
    pub first_token_ns: Option<u64>,
    /// Tokens of its answer; 0 where they are not known.
    pub tokens: u32,
    /// The place of its node in the list; none where it is not known.
    pub node: Option<usize>,
    /// Duration of each part of its latency, ns; `None` where it is not known.
    pub parts_ns: Option<[u64; PARTS.len()]>,
}

/// Names of the parts of a latency, in the order in which a sample goes through them.
pub(crate) const PARTS: [&str; 1 + STAGES.len()] = {
    let mut parts = [BEFORE_SENDING; 1 + STAGES.len()];
    parts.split_at_mut(1).1.copy_from_slice(&STAGES);
    parts
};

/// Returns the duration of each part of a latency, ns. The stages of a round trip leave a rest of the latency: the time
/// before the sample was sent.
fn parts_ns(latency_ns: u64, stages_ns: [u64; STAGES.len()]) -> [u64; PARTS.len()] {
    let mut parts_ns = [latency_ns.saturating_sub(stages_ns.iter().sum()); PARTS.len()];
    parts_ns[1..].copy_from_slice(&stages_ns);
    parts_ns
}

impl Recording {
    /// Opens the files of a run folder, and checks that they are what the run wrote.
    ///
    /// # Errors
    /// There is no timeline, a file cannot be read, or is not what the run wrote.
    pub fn open(folder: &Path) -> Result<Recording> {
        let result = ResultSummary::of_folder(folder)?;
        let path = folder.join(logs::TIMELINE);
        if !path.exists() && !result.files.contains_key(logs::TIMELINE) {
            let why = match result.interrupted {
                true => "the run was broken off: `loadgen-node recover` makes one of what was measured",
                false => "accuracy runs have none",
            };
            bail!("{} has no {}: {why}", folder.display(), logs::TIMELINE);
        }
        let timeline = stored_timeline::check(&path)?;
        let plan = stored_timeline::plan(folder, timeline.about(), &result)?;
        let stages = recorded_stages(folder, &result, timeline.samples())?;
        Ok(Recording { path, plan, is_drawn: result.profile().is_some(), timeline, stages })
    }

    /// Returns true when samples have tokens.
    pub(crate) fn has_tokens(&self) -> bool {
        self.timeline.has_tokens()
    }

    /// The names of the nodes, where it is known which one had which sample.
    pub(crate) fn nodes(&self) -> Option<&[String]> {
        self.stages.as_ref().map(|stages| stages.header.nodes.as_slice())
    }

    /// Hands out every sample, in the order in which they were issued.
    ///
    /// # Errors
    /// A file cannot be read, or `take` fails.
    pub fn each(&mut self, mut take: impl FnMut(&Sample) -> io::Result<()>) -> io::Result<()> {
        let Recording { path, plan, is_drawn, timeline, stages } = self;
        let phase: Option<&PhasePlan> = plan.phases().iter().find(|phase| !phase.is_accuracy());
        let phase = phase.ok_or_else(|| io::Error::other("the plan measures nothing"))?;
        let (queries, each) = (timeline.queries(), timeline.samples_per_query());
        let mut starts = Starts::new(phase, plan.effective().shape, queries, each);
        let mut indices = is_drawn.then(|| Indices::new(phase, queries));
        let rows =
            timeline.rows(|| files::open(path, Limit::DATA).map(|file| BufReader::with_capacity(1 << 20, file)))?;
        for (sample, row) in (0u64..).zip(rows) {
            let row = row?;
            let (latency_ns, end) = match row.end {
                SampleEnd::Done { latency_ns } => (Some(latency_ns), "answered"),
                SampleEnd::Failed { .. } => (None, "failed"),
                SampleEnd::Pending { .. } | SampleEnd::Unissued => (None, "lost"),
            };
            let of_node = stages.as_mut().map_or(Ok(SampleStages::default()), StoredStages::next)?;
            let stages_ns = of_node.node.map(|_| of_node.durations_ns);
            take(&Sample {
                sample,
                query: sample / each.max(1),
                qsl_idx: indices.as_mut().and_then(|indices| Some(indices.next()?.0.into())),
                start_ns: starts.next(row.end),
                latency_ns,
                end,
                first_token_ns: row.first_token_ns,
                tokens: row.tokens,
                node: of_node.node,
                parts_ns: latency_ns.zip(stages_ns).map(|(latency_ns, stages_ns)| parts_ns(latency_ns, stages_ns)),
            })?;
        }
        Ok(())
    }
}

/// Node and stages of the samples, where the run has recorded them.
fn recorded_stages(folder: &Path, result: &ResultSummary, samples: u64) -> Result<Option<StoredStages>> {
    let path = folder.join(stages::FILE);
    if !path.exists() {
        if result.files.contains_key(stages::FILE) {
            tracing::warn!(file = %path.display(), "a file is gone: node and stages of the samples are left out");
        } else {
            tracing::info!("the run has no stages of its samples: run --record-stages writes node and stages");
        }
        return Ok(None);
    }
    let path_text = || path.display().to_string();
    stored_timeline::check_sum(&path, &stored::sum(&path).with_context(path_text)?)?;
    let stages = StoredStages::open(&path).with_context(path_text)?;
    if stages.header.samples != samples {
        bail!("{} is of {} samples, the timeline of {samples}", path_text(), stages.header.samples);
    }
    Ok(Some(stages))
}
