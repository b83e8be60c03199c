//! Running a test: all phases of a plan against a world, to an outcome that can be reported.
//!
//! This is the product's whole main loop, and it cannot hang on its own: it waits for answers only as long as the
//! world says that it is ready, and for a grace time after the world was interrupted or broke.

mod driver;
mod observer;
mod phase;

pub use observer::{AccuracyEntry, Observer, Progress};

pub use crate::issuer::Stop;
pub use crate::recorder::{Counts, LagStats};

use crate::events::EventLog;
use crate::picks::Picks;
use crate::plan::{PhaseMode, Plan};
use crate::results;
use crate::summary::Summary;
use crate::timeline::Timeline;
use crate::verdict::Verdict;
use crate::world::{TimeNs, World};
use phase::PhaseRun;

/// What may vary between runs of one plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunOptions {
    /// How long answers are awaited after the world was interrupted or broke.
    pub drain_grace_ns: u64,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self { drain_grace_ns: 10_000_000_000 }
    }
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// All phases were run to their end.
    Completed,
    /// The user asked to stop.
    Interrupted,
    /// The SUT as a whole became unusable.
    Broken,
    /// A loadable set could not be made ready: the world's words.
    LoadFailed(String),
}

/// One phase, run.
#[derive(Clone, Debug)]
pub struct PhaseOutcome {
    /// What it was for.
    pub mode: PhaseMode,
    /// Queries issued.
    pub queries_issued: u64,
    /// Why issuing ended.
    pub stop: Stop,
    /// When it started, after loading and generating.
    pub started: TimeNs,
    /// When its last answer arrived.
    pub latest_end: TimeNs,
    /// What became of its samples.
    pub counts: Counts,
    /// Schedule lag.
    pub lag: LagStats,
    /// The end of every sample; performance phases only.
    pub timeline: Option<Timeline>,
}

/// A run.
#[derive(Clone, Debug)]
pub struct RunOutcome {
    /// How it ended.
    pub end: End,
    /// The phases that were started, in order.
    pub phases: Vec<PhaseOutcome>,
    /// What happened, for the detail log.
    pub events: EventLog,
    /// The judged performance phase, if one was started.
    pub summary: Option<Summary>,
    /// The strict verdict; callers may add reasons.
    pub verdict: Verdict,
    /// When the run ended.
    pub ended: TimeNs,
}

impl RunOutcome {
    /// What became of all samples.
    pub fn counts(&self) -> Counts {
        let mut sum = Counts::default();
        for phase in &self.phases {
            sum.add(&phase.counts);
        }
        sum
    }

    /// The performance phase, if one was started.
    pub fn performance(&self) -> Option<&PhaseOutcome> {
        self.phases.iter().find(|phase| phase.mode == PhaseMode::PerformanceOnly)
    }

    /// Schedule lag of the performance phase, or else of the last phase.
    pub fn lag(&self) -> LagStats {
        self.performance().or(self.phases.last()).map(|phase| phase.lag).unwrap_or_default()
    }
}

/// Runs a test.
pub fn run<W: World, O: Observer>(plan: &Plan, world: &mut W, observer: &mut O, options: RunOptions) -> RunOutcome {
    let mut run = Run { plan, world, observer, options, events: EventLog::default(), phases: Vec::new() };
    let end = run.phases();
    let ended = run.world.now();
    let (phases, events) = (run.phases, run.events);
    let mut outcome = RunOutcome { end, phases, events, summary: None, verdict: Verdict::default(), ended };
    judge(plan, &mut outcome);
    outcome
}

/// Everything that outlives a phase.
struct Run<'a, W, O> {
    plan: &'a Plan,
    world: &'a mut W,
    observer: &'a mut O,
    options: RunOptions,
    events: EventLog,
    phases: Vec<PhaseOutcome>,
}

impl<W: World, O: Observer> Run<'_, W, O> {
    fn phases(&mut self) -> End {
        let plan = self.plan;
        let effective = plan.effective();
        let mut picks = Picks::new(effective.accuracy_log_rng_seed, effective.log_probability());
        let mut announced = None;
        for phase in plan.phases() {
            if announced != Some(phase.mode) {
                announced = Some(phase.mode);
                let now = self.world.now();
                self.events.info(now, "generic_message", announcement(phase.mode));
            }
            let running = PhaseRun::new(effective, phase, self.options, &mut picks);
            let outcome = match running.run(self.world, self.observer, &mut self.events) {
                Ok(outcome) => outcome,
                Err(text) => return End::LoadFailed(text),
            };
            self.observer.phase_ended(&outcome);
            let stop = outcome.stop;
            self.phases.push(outcome);
            match stop {
                Stop::Interrupted => return End::Interrupted,
                Stop::Broken => return End::Broken,
                _ => {}
            }
        }
        End::Completed
    }
}

fn announcement(mode: PhaseMode) -> &'static str {
    match mode {
        PhaseMode::AccuracyOnly => "Starting accuracy mode",
        PhaseMode::PerformanceOnly => "Starting performance mode",
    }
}

fn judge(plan: &Plan, outcome: &mut RunOutcome) {
    let effective = plan.effective();
    let timeline = outcome.performance().and_then(|phase| phase.timeline.as_ref());
    outcome.summary = timeline.map(|timeline| results::judge(effective, timeline.measured(effective)));
    let mut verdict = Verdict::default();
    match &outcome.end {
        End::Completed => {}
        End::Interrupted => verdict.add("interrupted", "the run was interrupted"),
        End::Broken => verdict.add("broken", "the SUT became unusable during the run"),
        End::LoadFailed(text) => verdict.add("load_failed", format!("samples could not be made ready: {text}")),
    }
    if let Some(summary) = &outcome.summary {
        add_official_reasons(&mut verdict, summary);
    }
    let counts = outcome.counts();
    verdict.add_samples("failed_samples", counts.failed, "failed");
    verdict.add_samples("lost_samples", counts.lost, "got no answer");
    verdict.add_samples("duplicate_samples", counts.duplicate, "were answered again");
    verdict.add_samples("late_samples", counts.late, "were answered after they had been given up");
    verdict.add_samples("unknown_samples", counts.unknown, "were answered that had not been issued");
    verdict.add_samples("token_faults", counts.token_faults, "had unusable token information");
    outcome.verdict = verdict;
}

fn add_official_reasons(verdict: &mut Verdict, summary: &Summary) {
    let checks = summary.checks;
    verdict.official = Some(summary.is_valid());
    if checks.performance_constraints == Some(false) {
        verdict.add("performance_constraints", "the judged latency percentile exceeds its limit");
    }
    if !checks.min_duration {
        verdict.add("min_duration", "the run was shorter than min_duration");
    }
    if !checks.min_queries {
        verdict.add("min_queries", "fewer queries or samples than required were issued");
    }
    if !checks.early_stopping {
        verdict.add("early_stopping", "too few queries for the share of them above the latency limit");
    }
}

#[cfg(test)]
mod tests;
