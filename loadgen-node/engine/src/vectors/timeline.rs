//! The report of a stored timeline, as it was or under other rules.

use thiserror::Error;

use super::replay::ReplayedReport;
use crate::judge::{Summary, Verdict};
use crate::plan::{Effective, Plan};
use crate::recorder::{About, StoredTimeline};
use crate::report::Trailer;
use crate::run::verdict_of;
use crate::scenarios::{Scenario, TestSettings};
use crate::traffic::PlanError;

/// Why a timeline cannot be judged by the given settings.
#[derive(Debug, Error)]
pub enum RejudgeError {
    /// They are for another scenario: its queries were other ones.
    #[error("the timeline is of {recorded:?}, the settings are for {requested:?}")]
    Scenario {
        /// The scenario that was run.
        recorded: Scenario,
        /// The scenario that the settings ask for.
        requested: Scenario,
    },
    /// They are out of range.
    #[error("these settings cannot be judged by: {0}")]
    Plan(#[from] PlanError),
}

/// Result of judging a stored timeline again.
#[derive(Clone, Debug, PartialEq)]
pub struct Rejudged {
    /// Effective values of these settings.
    pub effective: Effective,
    /// Summary of the run by these settings.
    pub summary: Summary,
    /// The report by these settings, as it is printed.
    pub report: ReplayedReport,
    /// The verdict: by these settings, and with what speaks against the run whatever its settings are.
    pub verdict: Verdict,
}

/// Judges a timeline by `settings`. With its own settings, the summary is that of the run, to the byte, and the verdict
/// that of the run.
///
/// # Errors
/// The settings are for another scenario, or out of range.
pub fn replay_timeline(stored: &StoredTimeline, settings: TestSettings) -> Result<Rejudged, RejudgeError> {
    let About { settings: own, qsl, sut_name, warnings, errors, reasons } = &stored.about;
    let (recorded, requested) = (own.scenario, settings.scenario);
    if recorded != requested {
        return Err(RejudgeError::Scenario { recorded, requested });
    }
    let plan = Plan::for_judging(settings, *qsl)?;
    let summary = plan.effective().judge(stored.timeline.measured(plan.effective()));
    let mut verdict = verdict_of(plan.effective(), Some(&summary), &stored.timeline.counts);
    verdict.carry(reasons.iter().cloned());
    let trailer = Trailer { warnings: *warnings, errors: *errors };
    let report = ReplayedReport::new(&plan, &summary, &verdict, sut_name, trailer);
    Ok(Rejudged { effective: plan.effective().clone(), summary, report, verdict })
}
