//! Results of a run, for reports and for the caller's own verdict.

use super::events::EventLog;
use super::issuer::Stop;
use super::search::Bracket;
use super::search_record::{SearchEnd, Trial};
use crate::judge::{Counts, Summary, Verdict};
use crate::plan::Plan;
use crate::recorder::{LagCourse, LagStats, Timeline};
use crate::trace::PhaseMode;
use crate::world::TimeNs;

/// End of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// All phases were run to their end.
    Completed,
    /// The user asked to stop.
    Interrupted,
    /// The SUT as a whole could no longer be used.
    Broken,
    /// A loadable set could not be made ready: the world's words.
    LoadFailed(String),
}

/// A phase that was run.
#[derive(Clone, Debug)]
pub struct PhaseOutcome {
    /// Mode of the phase: accuracy or performance.
    pub mode: PhaseMode,
    /// Number of queries issued.
    pub queries_issued: u64,
    /// Those of them beyond the planned end, for early stopping.
    pub extended_by: u64,
    /// Why issuing ended.
    pub stop: Stop,
    /// When the phase started, after loading and generating.
    pub started: TimeNs,
    /// When the last answer of the phase arrived.
    pub latest_end: TimeNs,
    /// When the phase was closed: nothing was waited for any more.
    pub ended: TimeNs,
    /// Numbers of samples of the phase: those issued, and those with each kind of end.
    pub counts: Counts,
    /// Schedule lag of the samples.
    pub lag: LagStats,
    /// The largest of them over time.
    pub lag_course: LagCourse,
    /// Time for which samples waited behind others of the same due time; `None` where no two are due at once.
    pub behind: Option<LagStats>,
    /// Most samples outstanding at one time.
    pub max_pending: u64,
    /// The end of every sample; only of the performance phase that is judged.
    pub timeline: Option<Timeline>,
}

/// A run: what happened, and how it is judged.
#[derive(Clone, Debug)]
pub struct RunOutcome {
    /// End of the run.
    pub end: End,
    /// The phases that were started, in order.
    pub phases: Vec<PhaseOutcome>,
    /// Events of the run, for the detail log.
    pub events: EventLog,
    /// The judged performance phase, if one was started.
    pub summary: Option<Summary>,
    /// The search for the peak, in the mode of that name.
    pub find_peak: Option<FindPeakOutcome>,
    /// The verdict; callers may add reasons.
    pub verdict: Verdict,
    /// When the run ended.
    pub ended: TimeNs,
}

impl RunOutcome {
    /// Returns the numbers of samples in all phases of the run: those issued, and those with each kind of end.
    pub fn counts(&self) -> Counts {
        counts(&self.phases)
    }

    /// The performance phase that is judged, if one was started.
    pub fn performance(&self) -> Option<&PhaseOutcome> {
        performance(&self.phases)
    }

    /// The plan by which the judged phase was run: that of the peak after a search, else the plan of the test.
    pub fn judged_plan<'a>(&'a self, plan: &'a Plan) -> &'a Plan {
        judged_plan(self.find_peak.as_ref(), plan)
    }

    /// Schedule lag of the performance phase, or else of the last phase.
    pub fn lag(&self) -> LagStats {
        self.performance().or(self.phases.last()).map(|phase| phase.lag).unwrap_or_default()
    }

    /// Time for which samples of the performance phase waited behind others of the same due time.
    pub fn behind(&self) -> Option<LagStats> {
        self.performance().and_then(|phase| phase.behind)
    }

    /// The largest lags of the performance phase over time; none without such a phase.
    pub fn lag_course(&self) -> LagCourse {
        self.performance().map(|phase| phase.lag_course.clone()).unwrap_or_default()
    }
}

/// The sum over these phases: see [`RunOutcome::counts`].
pub(super) fn counts(phases: &[PhaseOutcome]) -> Counts {
    let mut sum = Counts::default();
    for phase in phases {
        sum.add(&phase.counts);
    }
    sum
}

/// The one of these phases that is judged: see [`RunOutcome::performance`].
pub(super) fn performance(phases: &[PhaseOutcome]) -> Option<&PhaseOutcome> {
    phases.iter().find(|phase| phase.timeline.is_some())
}

/// The plan of the judged phase: see [`RunOutcome::judged_plan`].
pub(super) fn judged_plan<'a>(find_peak: Option<&'a FindPeakOutcome>, plan: &'a Plan) -> &'a Plan {
    find_peak.and_then(|search| search.reported.as_deref()).unwrap_or(plan)
}

/// A search for the peak, run.
#[derive(Clone, Debug)]
pub struct FindPeakOutcome {
    /// End of the search.
    pub end: SearchEnd,
    /// Every trial in order, those that were known before included.
    pub trials: Vec<Trial>,
    /// Bounds of the peak, as far as they are known.
    pub bracket: Bracket,
    /// The plan of the reported run, whose rate is the peak; `None` when nothing was run.
    pub reported: Option<Box<Plan>>,
}
