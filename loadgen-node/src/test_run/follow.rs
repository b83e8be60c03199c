//! What a test does itself with what the engine tells while it runs: it keeps answers that will be scored, and sets the
//! counts of a progress display. Everything is passed on to the caller's observer.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, PoisonError};

use super::finished::Setup;
use crate::world::counts::Counts;
use loadgen::plan::PhasePlan;
use loadgen::recorder::Live;
use loadgen::run::{AccuracyEntry, Observer, PhaseOutcome, Progress, Trial, TrialStart};
use loadgen::traffic::Pacing;
use loadgen::world::TimeNs;

/// Answers with the index of their sample.
pub(super) type Answers = Vec<(usize, Vec<u8>)>;

/// See the module's docs.
pub(super) struct Follow<'a, O> {
    next: &'a mut O,
    counts: Arc<Counts>,
    pacing: Pacing,
    min_duration_ns: u64,
    /// Answers of accuracy phases will be scored.
    keep: bool,
    answers: Answers,
    in_accuracy_phase: bool,
}

impl<'a, O> Follow<'a, O> {
    pub(super) fn new(next: &'a mut O, setup: &Setup, counts: Arc<Counts>) -> Follow<'a, O> {
        Follow {
            next,
            counts,
            pacing: setup.plan.effective().scenario.pacing(),
            min_duration_ns: setup.plan.effective().min_duration_ms.saturating_mul(1_000_000),
            keep: setup.benchmark.accuracy.is_some(),
            answers: Vec::new(),
            in_accuracy_phase: false,
        }
    }

    /// The answers of accuracy phases, in order of arrival; empty when they will not be scored.
    pub(super) fn into_answers(self) -> Answers {
        self.answers
    }

    /// Tells the display what this phase will take, as far as that is known.
    fn plan_progress(&self, phase: &PhasePlan) {
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

impl<O: Observer> Observer for Follow<'_, O> {
    fn accuracy(&mut self, entry: &AccuracyEntry<'_>) {
        self.next.accuracy(entry);
        if self.keep && self.in_accuracy_phase {
            self.answers.push((entry.index.0 as usize, entry.data.to_vec()));
        }
    }

    fn phase_started(&mut self, phase: &PhasePlan, start: TimeNs, live: &Live) {
        self.in_accuracy_phase = phase.is_accuracy();
        self.plan_progress(phase);
        *self.counts.live.lock().unwrap_or_else(PoisonError::into_inner) = Some(live.clone());
        self.next.phase_started(phase, start, live);
    }

    fn phase_ended(&mut self, outcome: &PhaseOutcome) {
        // The display would keep the records in memory.
        *self.counts.live.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.next.phase_ended(outcome);
    }

    fn trial_started(&mut self, trial: TrialStart) {
        let TrialStart { number, qps, bracket } = trial;
        tracing::info!(number, qps, low_qps = bracket.low_qps, high_qps = bracket.high_qps, "trial");
        self.next.trial_started(trial);
    }

    fn trial_ended(&mut self, trial: &Trial) {
        tracing::info!(qps = trial.qps, passed = trial.passed, p99_ns = trial.p99_ns, "trial ended");
        self.next.trial_ended(trial);
    }

    #[inline]
    fn progress(&mut self, progress: Progress) {
        self.counts.max_lag_ns.store(progress.max_lag_ns, Relaxed);
        self.next.progress(progress);
    }
}
