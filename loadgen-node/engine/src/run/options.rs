//! Options that may vary between runs of one plan.

use std::num::NonZeroU64;

use super::search_record::FindPeakOptions;

/// Options that may vary between runs of one plan.
#[derive(Clone, Debug, PartialEq)]
pub struct RunOptions {
    /// Time for which answers are awaited after the world was interrupted or broke, ns.
    pub drain_grace_ns: u64,
    /// Keeps when each sample was issued (8 bytes a sample more), for the trace log.
    pub keep_issue_times: bool,
    /// Goes on beyond the planned queries where early stopping asks for more.
    pub extend: bool,
    /// Goes on beyond the planned queries until the world lets the phase end: room for so many times the planned
    /// queries is made. `None`: a phase ends when it has what it needs.
    pub goes_on: Option<NonZeroU64>,
    /// Options of a search for the peak; for the mode of that name only.
    pub find_peak: FindPeakOptions,
}

impl Default for RunOptions {
    fn default() -> Self {
        let find_peak = FindPeakOptions::default();
        Self { drain_grace_ns: 10_000_000_000, keep_issue_times: false, extend: false, goes_on: None, find_peak }
    }
}
