//! The report of a stored timeline, as it was or under other rules.

use thiserror::Error;

use super::replay::ReplayedReport;
use crate::plan::Plan;
use crate::recorder::{About, StoredTimeline};
use crate::report::Trailer;
use crate::scenario::{Scenario, TestSettings};
use crate::traffic::PlanError;

/// Why a timeline cannot be judged by the given settings.
#[derive(Debug, Error)]
pub enum RejudgeError {
    /// They are for another scenario: its queries were other ones.
    #[error("the timeline is of {recorded:?}, the settings are for {asked:?}")]
    Scenario {
        /// The scenario that was run.
        recorded: Scenario,
        /// What was asked for.
        asked: Scenario,
    },
    /// They are out of range.
    #[error("these settings cannot be judged by: {0}")]
    Plan(#[from] PlanError),
}

/// Judges a timeline by `settings`. With its own settings, the summary is that of the run, to the byte.
///
/// # Errors
/// The settings are for another scenario, or out of range.
pub fn replay_timeline(stored: &StoredTimeline, settings: TestSettings) -> Result<ReplayedReport, RejudgeError> {
    let About { settings: own, qsl, sut_name, warnings, errors } = &stored.about;
    let (recorded, asked) = (own.scenario, settings.scenario);
    if recorded != asked {
        return Err(RejudgeError::Scenario { recorded, asked });
    }
    let plan = Plan::for_judging(settings, *qsl)?;
    let summary = plan.effective().judge(stored.timeline.measured(plan.effective()));
    Ok(ReplayedReport::new(&plan, &summary, sut_name, Trailer { warnings: *warnings, errors: *errors }))
}
