//! Running a test: all phases of a plan against a world, to an outcome that can be reported.
//!
//! This is the product's whole main loop, and it cannot hang on its own: it waits for answers only as long as the
//! world says that it is ready, and for a grace time after the world was interrupted or broke.

mod driver;
mod find_peak;
mod give_up;
mod observer;
mod phase;
mod reasons;

pub use find_peak::{FindPeakOutcome, TrialStart};
pub use observer::{AccuracyEntry, Observer, Progress};

pub use crate::find_peak::FindPeakOptions;
pub use crate::issuer::Stop;
pub use crate::recorder::{Counts, LagStats};

use crate::events::EventLog;
use crate::find_peak::SearchEnd;
use crate::picks::Picks;
use crate::plan::{Effective, PhaseMode, PhasePlan, Plan};
use crate::report::Value;
use crate::results;
use crate::settings::Mode;
use crate::summary::Summary;
use crate::timeline::Timeline;
use crate::verdict::Verdict;
use crate::world::{SampleIndex, TimeNs, World};
use find_peak::Hunt;
use phase::PhaseRun;
use reasons::verdict_of;

/// What may vary between runs of one plan.
#[derive(Clone, Debug, PartialEq)]
pub struct RunOptions {
    /// How long answers are awaited after the world was interrupted or broke.
    pub drain_grace_ns: u64,
    /// Keeps when each sample was issued (8 bytes a sample more), for the trace log.
    pub keep_issue_times: bool,
    /// How a search for the peak is run; for the mode of that name only.
    pub find_peak: FindPeakOptions,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self { drain_grace_ns: 10_000_000_000, keep_issue_times: false, find_peak: FindPeakOptions::default() }
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
    /// Most samples outstanding at one time.
    pub max_pending: u64,
    /// The end of every sample; only of the performance phase that is judged.
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
    /// The search for the peak, in the mode of that name.
    pub find_peak: Option<FindPeakOutcome>,
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

    /// The performance phase that is judged, if one was started.
    pub fn performance(&self) -> Option<&PhaseOutcome> {
        self.phases.iter().find(|phase| phase.timeline.is_some())
    }

    /// The plan by which the judged phase was run: that of the peak after a search, else the plan of the test.
    pub fn judged_plan<'a>(&'a self, plan: &'a Plan) -> &'a Plan {
        self.find_peak.as_ref().and_then(|search| search.reported.as_deref()).unwrap_or(plan)
    }

    /// Schedule lag of the performance phase, or else of the last phase.
    pub fn lag(&self) -> LagStats {
        self.performance().or(self.phases.last()).map(|phase| phase.lag).unwrap_or_default()
    }
}

/// Runs a test.
pub fn run<W: World, O: Observer>(plan: &Plan, world: &mut W, observer: &mut O, options: RunOptions) -> RunOutcome {
    let effective = plan.effective();
    let picks = Picks::new(effective.accuracy_log_rng_seed, effective.log_probability());
    let mut run = Run { plan, world, observer, options, events: EventLog::default(), phases: Vec::new(), picks };
    if let Some(text) = plan.unsupported() {
        let now = run.world.now();
        run.events.warning(now, text);
    }
    let (end, find_peak) = if effective.mode == Mode::FindPeakPerformance {
        run.announce("Starting FindPeakPerformance mode");
        let (end, search) = Hunt::new(&mut run).hunt();
        (end, Some(search))
    } else {
        (run.all_phases(), None)
    };
    let ended = run.world.now();
    let (phases, events) = (run.phases, run.events);
    let mut outcome = RunOutcome { end, phases, events, summary: None, find_peak, verdict: Verdict::default(), ended };
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
    picks: Picks,
}

impl<W: World, O: Observer> Run<'_, W, O> {
    fn all_phases(&mut self) -> End {
        let plan = self.plan;
        let mut announced = None;
        for phase in plan.phases() {
            if announced != Some(phase.mode) {
                announced = Some(phase.mode);
                self.announce(announcement(phase.mode));
            }
            let set = &phase.set.indices;
            if let Err(text) = self.load(set) {
                return End::LoadFailed(text);
            }
            let stop = self.phase(plan.effective(), phase);
            self.unload(set);
            match stop {
                Stop::Interrupted => return End::Interrupted,
                Stop::Broken => return End::Broken,
                _ => {}
            }
        }
        End::Completed
    }

    fn announce(&mut self, text: &str) {
        let now = self.world.now();
        self.events.info(now, "generic_message", text);
    }

    fn load(&mut self, set: &[SampleIndex]) -> Result<(), String> {
        self.world.load(set)?;
        let now = self.world.now();
        self.events.info(now, "loaded_qsl_set", Value::List(set.iter().map(|index| index.0).collect()));
        Ok(())
    }

    fn unload(&mut self, set: &[SampleIndex]) {
        self.world.unload(set);
    }

    /// Runs a phase whose set is loaded; its outcome becomes the last of `phases`.
    fn phase(&mut self, effective: &Effective, phase: &PhasePlan) -> Stop {
        self.picks.set_probability(effective.log_probability());
        let running = PhaseRun::new(effective, phase, &self.options, &mut self.picks);
        let outcome = running.run(self.world, self.observer, &mut self.events);
        self.observer.phase_ended(&outcome);
        let stop = outcome.stop;
        self.phases.push(outcome);
        stop
    }
}

fn announcement(mode: PhaseMode) -> &'static str {
    match mode {
        PhaseMode::AccuracyOnly => "Starting accuracy mode",
        PhaseMode::PerformanceOnly => "Starting performance mode",
    }
}

fn judge(plan: &Plan, outcome: &mut RunOutcome) {
    let judged = outcome.performance();
    let timeline = judged.and_then(|phase| phase.timeline.as_ref());
    let effective = outcome.judged_plan(plan).effective();
    let summary = timeline.map(|timeline| results::judge(effective, timeline.measured(effective)));
    // The trials of a search that fail are no fault of the one that is reported.
    let counts = match (&outcome.find_peak, judged) {
        (Some(_), Some(phase)) => phase.counts,
        _ => outcome.counts(),
    };
    let mut verdict = Verdict::default();
    match &outcome.end {
        End::Completed => {}
        End::Interrupted => verdict.add("interrupted", "the run was interrupted"),
        End::Broken => verdict.add("broken", "the SUT became unusable during the run"),
        End::LoadFailed(text) => verdict.add("load_failed", format!("samples could not be made ready: {text}")),
    }
    if let Some(search) = &outcome.find_peak {
        add_search_reasons(&mut verdict, search);
    }
    let of_phase = verdict_of(effective, summary.as_ref(), &counts);
    verdict.official = of_phase.official;
    verdict.reasons.extend(of_phase.reasons);
    (outcome.summary, outcome.verdict) = (summary, verdict);
}

fn add_search_reasons(verdict: &mut Verdict, search: &FindPeakOutcome) {
    match &search.end {
        SearchEnd::Found | SearchEnd::Stopped => {}
        SearchEnd::BaseFails => verdict.add("find_peak_base", "the search for the peak began with a rate that fails"),
        SearchEnd::TooManyTrials => {
            let ran = search.trials.iter().filter(|trial| !trial.known).count();
            verdict.add("find_peak_trials", format!("the search for the peak was not finished after {ran} trials"));
        }
        SearchEnd::OutOfReach(why) => {
            verdict.add("find_peak_limit", format!("the peak is beyond what this tool can generate: {why}"));
        }
    }
}

#[cfg(test)]
mod find_peak_tests;
#[cfg(test)]
mod tests;
