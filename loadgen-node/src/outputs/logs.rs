//! The official log files of a run, from what the engine left behind.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::outputs::folder::{FolderError, RunFolder, Spool};
use crate::test_run::finished::Finished;
use crate::world::counts::Counts;
use loadgen::plan::{PhasePlan, Plan};
use loadgen::recorder::About;
use loadgen::report::detail::DetailContext;
use loadgen::report::{self, Trailer, accuracy, detail, trace_log};
use loadgen::run::{AccuracyEntry, Observer, Trial, TrialStart};
use loadgen::traffic::Pacing;
use loadgen::world::TimeNs;

/// Answers by sample index.
pub(crate) type Answers = Vec<(usize, Vec<u8>)>;

/// Bytes of text gathered before they go to the file.
const GATHER_BYTES: usize = 256 << 10;

/// Writes `mlperf_log_accuracy.json` while the run goes on, and keeps what is to be scored.
pub(crate) struct AccuracyLog {
    spool: Spool,
    text: String,
    empty: bool,
    failed: Option<FolderError>,
    counts: Arc<Counts>,
    /// Answers of accuracy phases, if somebody wants to score them.
    answers: Answers,
    keep: bool,
    in_accuracy_phase: bool,
    pacing: Pacing,
    min_duration_ns: u64,
}

impl AccuracyLog {
    /// `keep`: the answers will be scored.
    pub(crate) fn create(
        folder: &RunFolder,
        plan: &Plan,
        counts: Arc<Counts>,
        keep: bool,
    ) -> Result<AccuracyLog, FolderError> {
        Ok(AccuracyLog {
            spool: folder.spool("mlperf_log_accuracy.json")?,
            text: accuracy::OPEN.to_owned(),
            empty: true,
            failed: None,
            counts,
            answers: Vec::new(),
            keep,
            in_accuracy_phase: false,
            pacing: plan.effective().scenario.pacing(),
            min_duration_ns: plan.effective().min_duration_ms.saturating_mul(1_000_000),
        })
    }

    /// Gives the file its name and hands over the answers of accuracy phases.
    pub(crate) fn finish(mut self) -> (Answers, Result<(), FolderError>) {
        self.text.push_str(accuracy::CLOSE);
        self.drain();
        let written = self.failed.map_or_else(|| self.spool.finish(), Err);
        (self.answers, written)
    }

    /// The first failure to write is kept and told at the end: the run itself need not suffer from it.
    fn drain(&mut self) {
        if self.failed.is_none() {
            self.failed = self.spool.write(self.text.as_bytes()).err();
        }
        self.text.clear();
    }
}

impl Observer for AccuracyLog {
    fn accuracy(&mut self, entry: &AccuracyEntry<'_>) {
        accuracy::push_entry(&mut self.text, std::mem::take(&mut self.empty), entry);
        if self.text.len() >= GATHER_BYTES {
            self.drain();
        }
        if self.keep && self.in_accuracy_phase {
            self.answers.push((entry.index.0 as usize, entry.data.to_vec()));
        }
    }

    fn trial_started(&mut self, trial: TrialStart) {
        let TrialStart { number, qps, bracket } = trial;
        let shown = |bound: Option<f64>| bound.map_or("?".to_owned(), |qps| format!("{qps:.3}"));
        let (low, high) = (shown(bracket.low_qps), shown(bracket.high_qps));
        tracing::info!("trial {number}: {qps:.3} queries per second; the peak is in [{low}, {high})");
    }

    fn trial_ended(&mut self, trial: &Trial) {
        let verdict = if trial.passed { "passed" } else { "failed" };
        let p99 = std::time::Duration::from_nanos(trial.p99_ns.max(0) as u64);
        tracing::info!("{verdict} at {:.3} queries per second, p99 {p99:.1?}", trial.qps);
    }

    fn phase_started(&mut self, phase: &PhasePlan, _start: TimeNs) {
        self.in_accuracy_phase = phase.is_accuracy();
        let Counts { issued, planned, planned_ns, phase: number, .. } = &*self.counts;
        // Closed-loop scenarios stop when their time is over, usually long before what was generated runs out.
        let (samples, duration_ns) = match (phase.is_accuracy(), self.pacing) {
            (_, Pacing::Schedule) => (phase.generated.samples(), phase.generated.duration_ns),
            (true, _) | (_, Pacing::Room) => (phase.generated.samples(), 0),
            (false, Pacing::Reply { .. }) => (0, self.min_duration_ns),
        };
        planned.store(if samples > 0 { issued.load(Relaxed) + samples } else { 0 }, Relaxed);
        planned_ns.store(duration_ns, Relaxed);
        number.fetch_add(1, Relaxed);
    }
}

/// The files that are written when all is over.
pub(crate) struct Logs<'a> {
    finished: &'a Finished<'a>,
}

impl<'a> Logs<'a> {
    pub(crate) fn new(finished: &'a Finished<'a>) -> Logs<'a> {
        Logs { finished }
    }

    /// Writes summary, detail, on request the trace, and the timeline of the judged phase.
    pub(crate) fn write(&self, folder: &RunFolder) -> Result<(), FolderError> {
        folder.write("mlperf_log_summary.txt", self.summary().as_bytes())?;
        folder.write("mlperf_log_detail.txt", self.detail().as_bytes())?;
        if self.finished.args.trace_log {
            let Finished { plan, outcome, .. } = self.finished;
            folder.stream("mlperf_log_trace.json", |out| trace_log::write(plan, outcome, &self.context(), out))?;
        }
        self.timeline(folder)
    }

    fn trailer(&self) -> Trailer {
        let Finished { plan, outcome, .. } = self.finished;
        let errors = outcome.events.errors() + plan.faults().len() as u64;
        Trailer { warnings: outcome.events.warnings(), errors }
    }

    fn timeline(&self, folder: &RunFolder) -> Result<(), FolderError> {
        let Finished { plan, outcome, names, .. } = self.finished;
        let Some(timeline) = outcome.performance().and_then(|phase| phase.timeline.as_ref()) else { return Ok(()) };
        let Trailer { warnings, errors } = self.trailer();
        let judged = outcome.judged_plan(plan);
        let (settings, qsl, sut_name) = (judged.requested().clone(), judged.qsl(), names[1].text.clone());
        folder
            .stream("timeline.bin", |out| timeline.write_to(&About { settings, qsl, sut_name, warnings, errors }, out))
    }

    fn summary(&self) -> String {
        let Finished { plan, outcome, names, .. } = self.finished;
        let trailer = self.trailer();
        match &outcome.summary {
            Some(summary) => report::summary_text(outcome.judged_plan(plan), summary, &names[1].text, trailer),
            None => report::accuracy_only_text(trailer),
        }
    }

    fn detail(&self) -> String {
        let Finished { plan, outcome, .. } = self.finished;
        detail::render(plan, outcome, &self.context())
    }

    fn context(&self) -> DetailContext<'_> {
        let Finished { names, started, dataset_name, .. } = self.finished;
        let asked = names[0].trips.iter().map(|trip| trip.rtt).max().unwrap_or_default();
        DetailContext {
            version: env!("CARGO_PKG_VERSION"),
            sut_name: &names[0].text,
            sut_name_duration_ns: asked.as_nanos() as u64,
            qsl_name: dataset_name,
            // The world's clock began with the run.
            start: TimeNs::default(),
            start_unix_ns: unix_ns(*started),
            pid: std::process::id(),
            // The engine has one thread, and it is the process's first.
            tid: u64::from(std::process::id()),
        }
    }
}

fn unix_ns(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}
