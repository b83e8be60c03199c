//! The search for the highest Server rate that meets the latency target: results in, the next rate or the end out.
//!
//! The official algorithm: the requested rate must pass, then the rate grows by steps until one fails, then the
//! bracket is halved until it is as narrow as the wanted precision. It neither runs nor judges anything;
//! `find_peak` does what it asks. Unlike the official one it always ends: see [`Search::next`].

use serde::{Deserialize, Serialize};

use crate::requested::Qsl;
use crate::scenario::TestSettings;

/// Trials run unless told otherwise: widening from 1 to the largest rate takes 50.
pub const DEFAULT_MAX_TRIALS: u64 = 64;

/// Largest difference between two rates that count as the same, as a share: a file in between may round the last digit.
const SAME_RATE: f64 = 1e-12;

/// A bracket: the highest rate known to pass, and the lowest known to fail.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Bracket {
    /// `None` until the base rate has passed.
    pub low_qps: Option<f64>,
    /// `None` until a rate has failed.
    pub high_qps: Option<f64>,
}

impl Bracket {
    /// Returns the bracket after this trial has ended, too.
    pub fn after(mut self, trial: &Trial) -> Bracket {
        *self.bound(trial.passed) = Some(trial.qps);
        self
    }

    /// The bound that a trial moves.
    fn bound(&mut self, passed: bool) -> &mut Option<f64> {
        if passed { &mut self.low_qps } else { &mut self.high_qps }
    }
}

/// Next step of the search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    /// Try the rate that was requested.
    Base {
        /// The rate, queries per second.
        qps: f64,
    },
    /// Try a higher rate than `low`, which passed.
    Widen {
        /// The highest rate that passed, queries per second.
        low: f64,
        /// The rate to try, queries per second.
        qps: f64,
    },
    /// Try the middle between `low`, which passed, and `high`, which failed.
    Halve {
        /// The highest rate that passed, queries per second.
        low: f64,
        /// The lowest rate that failed.
        high: f64,
        /// The rate to try, queries per second.
        qps: f64,
    },
    /// The search is over: `qps` is the highest rate that passed.
    Found {
        /// The rate, queries per second.
        qps: f64,
    },
    /// The search is over: the requested rate itself fails.
    BaseFails,
}

impl Step {
    /// The rate to try, if one is wanted.
    pub fn qps(self) -> Option<f64> {
        match self {
            Self::Base { qps } | Self::Widen { qps, .. } | Self::Halve { qps, .. } => Some(qps),
            Self::Found { .. } | Self::BaseFails => None,
        }
    }

    /// The official announcement; `None` where there is none.
    pub(crate) fn message(self) -> Option<String> {
        match self {
            Self::Base { qps } => {
                Some(format!("FindPeakPerformance: Check validity of the base settings field: {qps:.6}"))
            }
            Self::Widen { low, qps } => Some(format!("FindBoundaries: Checking fields [{low:.6}, {qps:.6})")),
            Self::Halve { low, high, qps } => Some(format!(
                "FindPeakPerformanceBinarySearch: Testing the mid value of bounds [{low:.6}, {high:.6}): {qps:.6}"
            )),
            Self::Found { qps } => Some(format!("FindPeakPerformance: Found peak performance field: {qps:.6}")),
            Self::BaseFails => None,
        }
    }
}

/// A search and what it knows so far.
#[derive(Clone, Copy, Debug)]
pub struct Search {
    base_qps: f64,
    growth: f64,
    scale: f64,
    bracket: Bracket,
}

impl Search {
    /// Starts at `base_qps`, grows by the share `step_size`, and narrows to `decimals` decimals.
    pub fn new(base_qps: f64, step_size: f64, decimals: i32) -> Self {
        Self { base_qps, growth: 1.0 + step_size, scale: 10_f64.powi(decimals), bracket: Bracket::default() }
    }

    /// Returns the next step. Halving ends, at the latest, when no number lies between the bounds; widening ends when
    /// its caller can run no higher rate.
    pub fn next(&self) -> Step {
        match (self.bracket.low_qps, self.bracket.high_qps) {
            (None, None) => Step::Base { qps: self.base_qps },
            (None, Some(_)) => Step::BaseFails,
            (Some(low), None) => Step::Widen { low, qps: low * self.growth },
            (Some(low), Some(high)) => {
                let qps = low + (high - low) / 2.0;
                let wide = (low * self.scale).floor() + 1.0 < (high * self.scale).floor();
                if wide && low < qps && qps < high { Step::Halve { low, high, qps } } else { Step::Found { qps: low } }
            }
        }
    }

    /// Takes the result of the rate that [`Search::next`] wanted.
    pub fn answer(&mut self, passed: bool) {
        if let Some(qps) = self.next().qps() {
            *self.bracket.bound(passed) = Some(qps);
        }
    }

    /// Returns the bracket so far.
    pub fn bracket(&self) -> Bracket {
        self.bracket
    }
}

/// A rate that was tried, and what came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Trial {
    /// The rate, queries per second.
    pub qps: f64,
    /// True when the trial met the latency target. The search asks for nothing else.
    pub passed: bool,
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
    pub fn is_at(&self, qps: f64) -> bool {
        (self.qps - qps).abs() <= SAME_RATE * qps.abs()
    }
}

/// A trial that is about to run, and where the search stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrialStart {
    /// Number of the trial, from 1; known trials count too.
    pub number: usize,
    /// The rate to be tried, queries per second.
    pub qps: f64,
    /// Bounds of the peak that are known so far.
    pub bracket: Bracket,
}

/// Options of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct FindPeakOptions {
    /// Trials that need not be run again, from an interrupted search with the same settings.
    pub prior: Vec<Trial>,
    /// Most trials to run; those in `prior` do not count.
    pub max_trials: u64,
    /// Ends a trial as soon as nothing can make it pass any more.
    pub give_up_early: bool,
}

impl Default for FindPeakOptions {
    fn default() -> Self {
        Self { prior: Vec::new(), max_trials: DEFAULT_MAX_TRIALS, give_up_early: false }
    }
}

/// End of a search.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SearchEnd {
    /// The peak was found.
    Found,
    /// The requested rate itself fails.
    BaseFails,
    /// The limit of trials was reached.
    TooManyTrials,
    /// Every rate passed up to one that cannot be run: why.
    OutOfReach(String),
    /// The run was interrupted or its SUT broke.
    Stopped,
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a search in which rates up to `peak` pass; the rates tried, and how it ended.
    fn searched(mut search: Search, peak: f64, most: usize) -> (Vec<f64>, Step) {
        let mut tried = Vec::new();
        while let Some(qps) = search.next().qps() {
            tried.push(qps);
            search.answer(qps <= peak);
            if tried.len() == most {
                break;
            }
        }
        (tried, search.next())
    }

    #[test]
    fn the_rates_are_those_of_the_official_search() {
        let (tried, end) = searched(Search::new(200.0, 1.0, 0), 1_641.0, 99);
        let official = [
            200.0, 400.0, 800.0, 1600.0, 3200.0, 2400.0, 2000.0, 1800.0, 1700.0, 1650.0, 1625.0, 1637.5, 1643.75,
            1640.625, 1642.1875, 1641.40625,
        ];
        assert_eq!(tried, official);
        assert_eq!(end, Step::Found { qps: 1640.625 });
        assert_eq!(end.message().unwrap(), "FindPeakPerformance: Found peak performance field: 1640.625000");
    }

    #[test]
    fn a_base_rate_that_fails_is_the_end() {
        assert_eq!(searched(Search::new(5.0, 0.5, 1), 4.0, 99), (vec![5.0], Step::BaseFails));
    }

    #[test]
    fn more_precision_than_numbers_have_ends_all_the_same() {
        let (tried, end) = searched(Search::new(3.0, 1.0, 15), 1e9, 500);
        assert!(tried.len() < 120, "{}", tried.len());
        assert!(matches!(end, Step::Found { qps } if (qps - 1e9).abs() < 1e-3), "{end:?}");
    }

    #[test]
    fn brackets_always_hold_the_peak() {
        for peak in [1.0, 1.05, 7.77, 123.456, 99_999.9] {
            let mut search = Search::new(1.0, 0.37, 2);
            while let Some(qps) = search.next().qps() {
                search.answer(qps <= peak);
                let Bracket { low_qps, high_qps } = search.bracket();
                assert!(low_qps.is_none_or(|low| low <= peak) && high_qps.is_none_or(|high| high > peak));
            }
            let Step::Found { qps } = search.next() else { panic!("{:?}", search.next()) };
            assert!(qps <= peak && peak - qps < 0.02, "{qps} for {peak}");
        }
    }
}
