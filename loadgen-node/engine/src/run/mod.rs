//! Running a test: all phases of a plan against a world, to an outcome that can be reported.
//!
//! | file | what it does |
//! |---|---|
//! | `options`, `observer` | what may vary; what the caller is told while the run goes on |
//! | `outcome`, `events` | what comes out; what is logged |
//! | `issuer` | (now, outstanding) -> issue, wait, stop |
//! | `phase` | the state of one phase, until it is a closed timeline |
//! | `driver` | the loop that moves this state: issue, wait, record, drain |
//! | `phases` | the phases of a test, one after the other |
//! | `search`, `find_peak` | a search for the peak: which load comes next; running it |
//! | `search_record` | options, trials and end of a search, as files have them |
//! | `goal` | a percentile and its limit, by which a search may judge its trials |
//! | `give_up` | ending hopeless trials of a search early |
//! | `extension` | going on for the queries that early stopping asks for |
//! | `reasons` | summary and counts -> the strict verdict |
//!
//! A run cannot hang by itself: it waits for answers only as long as the world says that it is ready, and for a grace
//! time after the world was interrupted or broke.

mod driver;
mod events;
mod extension;
mod find_peak;
mod give_up;
mod goal;
mod issuer;
mod observer;
mod options;
mod outcome;
mod phase;
mod phases;
mod reasons;
mod search;
mod search_record;

pub use events::{Event, EventLog, Severity};
pub use goal::{Goal, LatencyKind};
pub use issuer::Stop;
pub(crate) use issuer::{Decision, Issuer};
pub use observer::{AccuracyEntry, Observer, Progress};
pub use options::RunOptions;
pub use outcome::{End, FindPeakOutcome, PhaseOutcome, RunOutcome};
pub use search::{Bracket, Precision, Search, Step};
pub use search_record::{DEFAULT_MAX_TRIALS, FindPeakOptions, SearchEnd, SearchRecord, Trial, TrialStart};

pub use crate::judge::Counts;
pub use crate::recorder::LagStats;

use crate::judge::{Summary, Verdict};
use crate::mode::Mode;
use crate::plan::Plan;
use crate::trace::Picks;
use crate::world::World;
use find_peak::Hunt;
use phases::Run;
pub(crate) use reasons::verdict_of;

/// Runs the test of a plan against a world, and judges it.
///
/// `observer` gets answers and progress, on the calling thread.
pub fn run<W: World, O: Observer + ?Sized>(
    plan: &Plan,
    world: &mut W,
    observer: &mut O,
    options: RunOptions,
) -> RunOutcome {
    let effective = plan.effective();
    let picks = Picks::new(effective.settings.accuracy_log_rng_seed, effective.log_probability());
    let mut run = Run { plan, world, observer, options, events: EventLog::default(), phases: Vec::new(), picks };
    if let Some(text) = plan.unsupported() {
        let now = run.world.now();
        run.events.warning(now, text);
    }
    let (requested, total) = (effective.performance_sample_count, plan.qsl().total);
    if effective.mode.has_performance() && requested > total {
        // The official keys have the number that was asked for.
        let text = format!("Performance samples: {total}, all that the library has, instead of {requested}.");
        let now = run.world.now();
        run.events.info(now, "generic_message", text.as_str());
    }
    let (end, find_peak) = if effective.mode == Mode::FindPeakPerformance {
        run.announce("Starting FindPeakPerformance mode");
        let (end, search) = Hunt::new(&mut run).hunt();
        (end, Some(search))
    } else {
        (run.all_phases(), None)
    };
    let ended = run.world.now();
    let (world, phases, events) = (run.world, run.phases, run.events);
    let (summary, verdict) = world.meanwhile(|| judge(plan, &phases, &end, find_peak.as_ref()));
    RunOutcome { end, phases, events, summary, find_peak, verdict, ended }
}

/// The summary of the judged phase, if there is one, and the verdict on the run.
fn judge(
    plan: &Plan,
    phases: &[PhaseOutcome],
    end: &End,
    find_peak: Option<&FindPeakOutcome>,
) -> (Option<Summary>, Verdict) {
    let judged = outcome::performance(phases);
    let effective = outcome::judged_plan(find_peak, plan).effective();
    let timeline = judged.and_then(|phase| phase.timeline.as_ref());
    let summary = timeline.map(|timeline| effective.judge(timeline.measured(effective)));
    // The trials of a search that fail are no fault of the one that is reported.
    let counts = match (find_peak, judged) {
        (Some(_), Some(phase)) => phase.counts,
        _ => outcome::counts(phases),
    };
    let mut verdict = verdict_of(effective, summary.as_ref(), &counts);
    match end {
        End::Completed => {}
        End::Interrupted => verdict.add("interrupted", "the run was interrupted"),
        End::Broken => verdict.add("broken", "the SUT became unusable during the run"),
        End::LoadFailed(text) => verdict.add("load_failed", format!("samples could not be made ready: {text}")),
    }
    if let Some(search) = find_peak {
        add_search_reasons(&mut verdict, search);
    }
    (summary, verdict)
}

/// Adds the reasons that a search gives against the result.
pub(crate) fn add_search_reasons(verdict: &mut Verdict, search: &FindPeakOutcome) {
    match &search.end {
        SearchEnd::Found | SearchEnd::Stopped => {}
        SearchEnd::BaseFails => {
            verdict.add_own_rule("find_peak_base", "the search for the peak began with a load that fails");
        }
        SearchEnd::NotVerified => {
            verdict.add_own_rule("find_peak_unverified", "no load that the search found held in a whole run");
        }
        SearchEnd::TooManyTrials => {
            let ran = search.trials.iter().filter(|trial| !trial.known).count();
            let text = format!("the search for the peak was not finished after {ran} trials");
            verdict.add_own_rule("find_peak_trials", text);
        }
        SearchEnd::OutOfReach(why) => {
            let text = format!("the peak is beyond what this tool can generate: {why}");
            verdict.add_own_rule("find_peak_limit", text);
        }
    }
}

#[cfg(test)]
mod extension_tests;
#[cfg(test)]
mod find_peak_tests;
#[cfg(test)]
mod going_on_tests;
#[cfg(test)]
pub(crate) mod noisy;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod verdict_tests;
