//! Whole bursts of scenario Burst, and users of scenario Closed: parts of `result_summary.json`.

use serde::{Deserialize, Serialize};

use super::parts::LatencySpread;
use loadgen::judge::BurstSummary;

/// Whole bursts of the performance phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct BurstsDocument {
    /// Queries in a burst.
    pub size: u64,
    /// Number of bursts.
    pub bursts: u64,
    /// Time from the due time of a burst to its first answer, ns.
    pub first_answer_ns: LatencySpread,
    /// Time from the due time of a burst to its last answer, ns.
    pub completion_ns: LatencySpread,
    /// Mean number of queries that were unanswered when a burst was due.
    pub backlog_mean: f64,
    /// Largest number of queries that were unanswered when a burst was due.
    pub backlog_max: u64,
    /// Number of bursts that were due while earlier queries were unanswered.
    pub starts_with_backlog: u64,
    /// Rate at which queries were due, per second; null for fewer than two bursts.
    pub offered_per_s: Option<f64>,
    /// Queries of a burst over its mean completion time, per second.
    pub drained_per_s: Option<f64>,
    /// Longest time from a start with unanswered queries to the next start without, ns; null where there was none, and
    /// where the last start still had some.
    pub recovery_ns: Option<u64>,
}

impl From<&BurstSummary> for BurstsDocument {
    fn from(summary: &BurstSummary) -> BurstsDocument {
        BurstsDocument {
            size: summary.size,
            bursts: summary.bursts,
            first_answer_ns: (&summary.first).into(),
            completion_ns: (&summary.completion).into(),
            backlog_mean: summary.backlog_mean,
            backlog_max: summary.backlog_max,
            starts_with_backlog: summary.starts_with_backlog,
            offered_per_s: summary.offered_per_s,
            drained_per_s: summary.drained_per_s,
            recovery_ns: summary.recovery_ns,
        }
    }
}
