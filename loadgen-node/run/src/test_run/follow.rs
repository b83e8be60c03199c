//! Follows the events of the engine while it runs. It keeps answers that will be scored, informs displays of each
//! phase, and passes everything on to the caller's observer.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use lon_net::slice;

use super::finished::Setup;
use loadgen::plan::PhasePlan;
use loadgen::recorder::Live;
use loadgen::run::{AccuracyEntry, Observer, PhaseOutcome, Progress, Trial, TrialStart};
use loadgen::traffic::Shape;
use loadgen::world::TimeNs;
use lon_world::counts::{Counts, PhaseNow};

/// Answers with the index of their sample.
pub(super) type Answers = Vec<(usize, Vec<u8>)>;

/// See the module's docs.
pub(super) struct Follow<'a, O> {
    next: &'a mut O,
    counts: Arc<Counts>,
    shape: Shape,
    min_duration_ns: u64,
    /// Answers of accuracy phases will be scored.
    keep: bool,
    answers: Answers,
    in_accuracy_phase: bool,
    /// The trial that a phase to come is.
    trial: Option<TrialStart>,
    /// Queries of the phases before.
    queries: u64,
    /// The engine's thread has real-time priority while samples are timed: what it does between phases may take long.
    realtime: bool,
}

impl<'a, O> Follow<'a, O> {
    pub(super) fn new(next: &'a mut O, setup: &Setup, counts: Arc<Counts>, realtime: bool) -> Follow<'a, O> {
        Follow {
            next,
            counts,
            shape: setup.plan.effective().shape,
            min_duration_ns: setup.plan.effective().settings.min_duration_ms.saturating_mul(1_000_000),
            keep: setup.benchmark.accuracy.is_some(),
            answers: Vec::new(),
            in_accuracy_phase: false,
            trial: None,
            queries: 0,
            realtime,
        }
    }

    /// The answers of accuracy phases, in order of arrival; empty when they will not be scored.
    pub(super) fn into_answers(self) -> Answers {
        self.answers
    }

    fn prioritize(&self, how: fn() -> io::Result<()>) {
        if self.realtime
            && let Err(error) = how()
        {
            tracing::warn!(%error, "the issuing thread keeps its priority");
        }
    }

    /// Returns the description of a phase that begins, for readers: its length and samples, as far as these are known.
    fn phase_now(&self, phase: &PhasePlan) -> PhaseNow {
        // Phases of closed-loop scenarios stop when their time is over. They usually stop long before the generated
        // samples run out.
        let generated = phase.generated;
        let (samples, duration_ns) = match () {
            () if self.shape.has_schedule() => (generated.samples(), generated.duration_ns),
            () if phase.is_accuracy() || self.shape.is_pulled() => (generated.samples(), 0),
            () => (0, self.min_duration_ns),
        };
        PhaseNow {
            number: 0,
            is_accuracy: phase.is_accuracy(),
            planned_samples: Some(samples).filter(|samples| *samples > 0),
            planned: Some(duration_ns).filter(|ns| *ns > 0).map(Duration::from_nanos),
            samples_per_query: generated.samples_per_query.max(1),
            trial: self.trial,
            before: self.counts.ended.load(Relaxed),
            began: Instant::now(),
            took: None,
        }
    }
}

impl<O: Observer> Observer for Follow<'_, O> {
    fn accuracy(&mut self, entry: &AccuracyEntry<'_>) {
        self.next.accuracy(entry);
        if self.keep && self.in_accuracy_phase {
            self.answers.push((entry.index.0 as usize, entry.data.to_vec()));
        }
    }

    fn phase_started(&mut self, phase: &PhasePlan, start: TimeNs, live: &Live) {
        self.in_accuracy_phase = phase.is_accuracy();
        self.prioritize(slice::realtime);
        self.counts.begin_phase(self.phase_now(phase), live.clone());
        self.next.phase_started(phase, start, live);
    }

    fn phase_ended(&mut self, outcome: &PhaseOutcome) {
        self.prioritize(slice::usual);
        self.queries += outcome.queries_issued;
        self.counts.queries.store(self.queries, Relaxed);
        self.counts.end_phase();
        self.next.phase_ended(outcome);
    }

    fn trial_started(&mut self, trial: TrialStart) {
        let TrialStart { number, load, is_verification, bracket } = trial;
        tracing::info!(number, load, is_verification, low = bracket.low, high = bracket.high, "trial");
        self.trial = Some(trial);
        self.next.trial_started(trial);
    }

    fn trial_ended(&mut self, trial: &Trial) {
        tracing::info!(load = trial.load, passed = trial.passed, p99_ns = trial.p99_ns, "trial ended");
        self.next.trial_ended(trial);
    }

    #[inline]
    fn progress(&mut self, progress: Progress) {
        self.counts.queries.store(self.queries + progress.queries_issued, Relaxed);
        self.next.progress(progress);
    }
}
