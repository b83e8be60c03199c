//! Settings that a run was requested with, as its detail log has them.

use super::detail_log::DetailLog;
use super::error::LogError;
use super::statements::Statements;
use crate::mode::Qsl;
use crate::scenarios::TestSettings;

/// The requested settings of a run, as its detail log has them.
#[derive(Clone, Debug)]
pub struct Requested {
    /// The settings as they were asked for.
    pub settings: TestSettings,
    /// The sizes that the library reported.
    pub qsl: Qsl,
    /// True when a rate had more digits than the six of the log, so that the traffic may have been another.
    pub is_rounded: bool,
    /// Settings that were requested and that this engine does not have: key and value.
    pub unknown: Vec<(String, String)>,
}

/// Reads the requested settings from a detail log.
///
/// # Errors
/// The log does not have them, or they are out of range.
pub fn requested(log: &DetailLog) -> Result<Requested, LogError> {
    let statements = Statements::read(log)?;
    let plans = statements.plans(log)?;
    Ok(Requested {
        settings: plans.judging.requested().clone(),
        qsl: plans.judging.qsl(),
        is_rounded: statements.is_rounded,
        unknown: statements.unknown,
    })
}
