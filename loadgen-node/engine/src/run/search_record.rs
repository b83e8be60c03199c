//! A search for the peak in files and reports: its options, its trials, its end.

use serde::{Deserialize, Serialize};

use super::goal::Goal;
use super::search::{Bracket, Step};
use crate::mode::Qsl;
use crate::scenarios::TestSettings;

/// Trials run unless told otherwise: widening from 1 to the largest rate takes 50.
pub const DEFAULT_MAX_TRIALS: u64 = 64;

/// Largest difference between two rates that count as the same, as a share: a file in between may round the last digit.
const SAME_RATE: f64 = 1e-12;

/// A load that was tried, and what came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Trial {
    /// The load, in the unit of its setting.
    #[serde(alias = "qps")]
    pub load: f64,
    /// True when the trial met the latency target, or the goals of the search. A verification asks for a VALID run,
    /// too.
    pub passed: bool,
    /// True when the trial was a whole run of a load that the search had found.
    #[serde(default)]
    pub is_verification: bool,
    /// True when the run alone would be VALID by the official rules.
    pub official_valid: bool,
    /// The reasons against the run; empty when there are none.
    pub reason: String,
    /// Number of queries issued.
    pub queries: u64,
    /// 99th percentile of the latency.
    pub p99_ns: i64,
    /// The latency at the judged percentile.
    pub target_percentile_ns: i64,
    /// 99th percentile of the schedule lag.
    pub lag_p99_ns: u64,
    /// True when the trial was known before this search, and not run by it.
    #[serde(default)]
    pub known: bool,
}

impl Trial {
    /// Returns true when this is a trial of the given rate.
    pub fn is_at(&self, load: f64) -> bool {
        (self.load - load).abs() <= SAME_RATE * load.abs()
    }
}

/// A trial that is about to run, and where the search stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrialStart {
    /// Number of the trial, from 1; known trials count too.
    pub number: usize,
    /// The load to be tried.
    pub load: f64,
    /// True when it is a whole run of a load that the search has found.
    pub is_verification: bool,
    /// Bounds of the peak that are known so far.
    pub bracket: Bracket,
}

/// Options of a search. The default is the official search.
#[derive(Clone, Debug, PartialEq)]
pub struct FindPeakOptions {
    /// Trials that need not be run again, from an interrupted search with the same settings.
    pub prior: Vec<Trial>,
    /// Most trials to run; those in `prior` do not count.
    pub max_trials: u64,
    /// Ends a trial as soon as nothing can make it pass any more.
    pub give_up_early: bool,
    /// Share of the highest load that passed at which halving ends; `None`: by the official setting for decimals.
    pub precision: Option<f64>,
    /// Whole runs that the load which was found must pass.
    pub verifications: u32,
    /// Share by which the load is lowered when a verification fails; at least 1 where loads are whole numbers.
    pub step_back: f64,
    /// Length of a trial, as a share of the whole run; verifications have all of it.
    pub trial_share: f64,
    /// Percentiles and their limits in place of the scenario's own rule.
    pub goals: Vec<Goal>,
}

/// Share by which a load is lowered when its verification fails, unless told otherwise.
const STEP_BACK: f64 = 0.01;

impl Default for FindPeakOptions {
    fn default() -> Self {
        Self {
            prior: Vec::new(),
            max_trials: DEFAULT_MAX_TRIALS,
            give_up_early: false,
            precision: None,
            verifications: 0,
            step_back: STEP_BACK,
            trial_share: 1.0,
            goals: Vec::new(),
        }
    }
}

/// End of a search.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SearchEnd {
    /// The peak was found.
    Found,
    /// The requested load itself fails.
    BaseFails,
    /// Every load down to the lowest one failed its verification.
    NotVerified,
    /// The limit of trials was reached.
    TooManyTrials,
    /// Every rate passed up to one that cannot be run: why.
    OutOfReach(String),
    /// The run was interrupted or its SUT broke.
    Stopped,
}

impl SearchEnd {
    /// The end that this step is; `None`: the search goes on.
    pub fn of(step: Step) -> Option<SearchEnd> {
        match step {
            Step::Found { .. } => Some(Self::Found),
            Step::BaseFails => Some(Self::BaseFails),
            Step::NotVerified => Some(Self::NotVerified),
            Step::Base { .. } | Step::Widen { .. } | Step::Halve { .. } | Step::Verify { .. } => None,
        }
    }
}

/// A search as it is stored: enough to go on with it later.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SearchRecord {
    /// Version of this form: 1.
    pub schema: u32,
    /// The settings of the test as requested.
    pub settings: TestSettings,
    /// Sizes that the query sample library (QSL) reported.
    pub qsl: Qsl,
    /// End of the search.
    pub end: SearchEnd,
    /// Bounds of the peak, as far as they are known.
    pub bracket: Bracket,
    /// Every trial, in order.
    pub trials: Vec<Trial>,
}
