//! The search for the highest load that meets the latency target: results in, the next load or the end out. The load is
//! the rate of Server, the burst of Burst, the users of Closed.
//!
//! The official algorithm: the requested rate must pass, then the rate grows by steps until one fails, then the
//! bracket is halved until it is as narrow as the wanted precision. Then the load that was found has to pass whole
//! runs, as many as are wanted. Each failure lowers it, by twice as much as the one before, and when a load has passed,
//! the rest of the bracket is halved by whole runs. The search neither runs nor judges anything; its caller does what
//! it asks. Unlike the official one it always ends: see [`Search::next`].

use serde::{Deserialize, Serialize};

/// A bracket: the highest load known to pass, and the lowest known to fail.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Bracket {
    /// `None` until the base load has passed.
    #[serde(alias = "low_qps")]
    pub low: Option<f64>,
    /// `None` until a load has failed.
    #[serde(alias = "high_qps")]
    pub high: Option<f64>,
}

impl Bracket {
    /// Returns the bracket after a trial of this load, too.
    #[must_use]
    pub fn after(mut self, load: f64, passed: bool) -> Bracket {
        *self.bound(passed) = Some(load);
        self
    }

    /// The bound that a trial moves.
    fn bound(&mut self, passed: bool) -> &mut Option<f64> {
        if passed { &mut self.low } else { &mut self.high }
    }
}

/// Next step of the search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    /// Try the rate that was requested.
    Base {
        /// The requested load.
        load: f64,
    },
    /// Try a higher rate than `low`, which passed.
    Widen {
        /// The highest load that passed.
        low: f64,
        /// The load to try.
        load: f64,
    },
    /// Try the middle between `low`, which passed, and `high`, which failed.
    Halve {
        /// The highest load that passed.
        low: f64,
        /// The lowest rate that failed.
        high: f64,
        /// The load to try.
        load: f64,
    },
    /// Run the load that was found as a whole.
    Verify {
        /// The load to try.
        load: f64,
        /// Number of this verification of the load, from 1.
        number: u32,
        /// Verifications that the load has to pass.
        count: u32,
    },
    /// The search is over: `load` is the highest rate that passed.
    Found {
        /// The load that was found.
        load: f64,
    },
    /// The search is over: the requested rate itself fails.
    BaseFails,
    /// The search is over: every load down to the lowest one failed its verification.
    NotVerified,
}

impl Step {
    /// The rate to try, if one is wanted.
    pub fn load(self) -> Option<f64> {
        match self {
            Self::Base { load } | Self::Widen { load, .. } | Self::Halve { load, .. } | Self::Verify { load, .. } => {
                Some(load)
            }
            Self::Found { .. } | Self::BaseFails | Self::NotVerified => None,
        }
    }

    /// Returns true when the load is to be run as a whole.
    pub fn is_verification(self) -> bool {
        matches!(self, Self::Verify { .. })
    }

    /// The official announcement; `None` where there is none.
    pub(crate) fn message(self) -> Option<String> {
        match self {
            Self::Base { load } => {
                Some(format!("FindPeakPerformance: Check validity of the base settings field: {load:.6}"))
            }
            Self::Widen { low, load } => Some(format!("FindBoundaries: Checking fields [{low:.6}, {load:.6})")),
            Self::Halve { low, high, load } => Some(format!(
                "FindPeakPerformanceBinarySearch: Testing the mid value of bounds [{low:.6}, {high:.6}): {load:.6}"
            )),
            Self::Found { load } => Some(format!("FindPeakPerformance: Found peak performance field: {load:.6}")),
            Self::Verify { load, number, count } => {
                Some(format!("FindPeakPerformance: Verification {number} of {count}: {load:.6}"))
            }
            Self::BaseFails | Self::NotVerified => None,
        }
    }
}

/// The width of the bracket at which halving ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Precision {
    /// The official rule: the bounds differ by one in the last of so many decimals.
    Decimals(i32),
    /// A share of the highest load that passed.
    Share(f64),
}

/// A search and what it knows so far.
#[derive(Clone, Copy, Debug)]
pub struct Search {
    base: f64,
    growth: f64,
    precision: Precision,
    /// Loads are whole numbers.
    is_whole: bool,
    bracket: Bracket,
    /// Verifications that the load which is found has to pass.
    verifications: u32,
    /// Share by which a load is lowered when it fails one.
    step_back: f64,
    /// The load that is verified, and how often it has passed; none while the bracket is narrowed.
    verified: Option<Verified>,
}

/// Progress of verifying.
#[derive(Clone, Copy, Debug)]
struct Verified {
    /// `None`: no load is left.
    load: Option<f64>,
    passed: u32,
    /// The lowest load that failed.
    failed: Option<f64>,
    /// The highest load that passed all its verifications.
    holds: Option<f64>,
    /// Share by which the next failure lowers the load.
    step_back: f64,
}

/// The largest step back.
const MAX_STEP_BACK: f64 = 0.5;

/// Width of the bracket of whole runs at which halving it ends, in steps back. The first step alone is no reason to
/// halve.
const LAST_STEPS: f64 = 1.5;

impl Search {
    /// Starts at `base`, grows by the share `step_size`, and narrows to the precision.
    pub fn new(base: f64, step_size: f64, precision: Precision, is_whole: bool) -> Self {
        Self {
            base,
            growth: 1.0 + step_size,
            precision,
            is_whole,
            bracket: Bracket::default(),
            verifications: 0,
            step_back: 0.0,
            verified: None,
        }
    }

    /// The same, with whole runs that the load which is found has to pass. The first failure lowers it by this share,
    /// and by one at least where loads are whole numbers.
    #[must_use]
    pub fn with_verifications(self, verifications: u32, step_back: f64) -> Self {
        Self { verifications, step_back, ..self }
    }

    /// Returns the next step. Halving ends, at the latest, when no number lies between the bounds; widening ends when
    /// its caller can run no higher load.
    pub fn next(&self) -> Step {
        let Verified { load, passed, .. } = match (self.verified, self.narrowed()) {
            (Some(verified), _) => verified,
            (None, Step::Found { load }) => self.unverified(load),
            (None, step) => return step,
        };
        match load {
            None => Step::NotVerified,
            Some(load) if passed >= self.verifications => Step::Found { load },
            Some(load) => Step::Verify { load, number: passed + 1, count: self.verifications },
        }
    }

    fn unverified(&self, load: f64) -> Verified {
        Verified { load: Some(load), passed: 0, failed: None, holds: None, step_back: self.step_back }
    }

    /// Returns the next step of narrowing the bracket.
    fn narrowed(&self) -> Step {
        match (self.bracket.low, self.bracket.high) {
            (None, None) => Step::Base { load: self.base },
            (None, Some(_)) => Step::BaseFails,
            (Some(low), None) => Step::Widen { low, load: self.above(low) },
            (Some(low), Some(high)) => {
                let load = self.middle(low, high);
                let goes_on = self.is_wide(low, high) && low < load && load < high;
                if goes_on { Step::Halve { low, high, load } } else { Step::Found { load: low } }
            }
        }
    }

    fn above(&self, low: f64) -> f64 {
        let load = low * self.growth;
        if self.is_whole { load.round().max(low + 1.0) } else { load }
    }

    fn middle(&self, low: f64, high: f64) -> f64 {
        let middle = low + (high - low) / 2.0;
        if self.is_whole { middle.floor() } else { middle }
    }

    fn is_wide(&self, low: f64, high: f64) -> bool {
        match self.precision {
            Precision::Decimals(decimals) => {
                let scale = if self.is_whole { 1.0 } else { 10_f64.powi(decimals) };
                (low * scale).floor() + 1.0 < (high * scale).floor()
            }
            Precision::Share(share) => high - low > share * low,
        }
    }

    /// The load to verify when the verification of another one failed; `None` below every load that makes sense.
    fn below(&self, load: f64, step_back: f64) -> Option<f64> {
        let lower = load * (1.0 - step_back);
        let lower = if self.is_whole { lower.round().min(load - 1.0) } else { lower };
        (lower >= if self.is_whole { 1.0 } else { f64::MIN_POSITIVE } && lower < load).then_some(lower)
    }

    /// Takes the result of the load that [`Search::next`] wanted.
    pub fn answer(&mut self, passed: bool) {
        match self.next() {
            Step::Verify { load, number, .. } => {
                let before = self.verified.unwrap_or_else(|| self.unverified(load));
                self.verified = Some(self.after_whole_run(before, load, passed.then_some(number)));
            }
            step => {
                if let Some(load) = step.load() {
                    *self.bracket.bound(passed) = Some(load);
                }
            }
        }
    }

    /// Progress after a whole run of `load`, which is the verification of this number if it has passed.
    fn after_whole_run(&self, before: Verified, load: f64, passed: Option<u32>) -> Verified {
        let Verified { failed, holds, step_back, .. } = before;
        let verified = match passed {
            Some(number) if number < self.verifications => {
                return Verified { passed: number, load: Some(load), ..before };
            }
            Some(_) => Verified { holds: Some(load), ..before },
            None if holds.is_none() => {
                let load = (self.below(load, step_back), Some(load));
                let step_back = (2.0 * step_back).min(MAX_STEP_BACK);
                return Verified { load: load.0, passed: 0, failed: load.1, step_back, ..before };
            }
            None => Verified { failed: Some(load), ..before },
        };
        let between = |(low, high): (f64, f64)| {
            let load = self.middle(low, high);
            let is_wide = high - low > LAST_STEPS * self.step_back * low;
            (is_wide && low < load && load < high).then_some(load)
        };
        match verified.holds.zip(verified.failed.or(failed)).and_then(between) {
            Some(load) => Verified { load: Some(load), passed: 0, ..verified },
            None => Verified { load: verified.holds, passed: self.verifications, ..verified },
        }
    }

    /// Returns true when the run of the next step is to be reported in place of those before it, if it ends like this.
    pub fn is_best(&self, passed: bool) -> bool {
        match self.next() {
            // Until a load holds, the last whole run says why none does.
            Step::Verify { number, count, .. } => {
                self.verified.is_none_or(|verified| verified.holds.is_none()) || (passed && number == count)
            }
            // A known peak is run again.
            Step::Found { .. } => true,
            _ => passed,
        }
    }

    /// Returns the bracket so far, by trials.
    pub fn bracket(&self) -> Bracket {
        self.bracket
    }

    /// Returns what the search has shown. With verifications, a load that was not verified is no lower bound, and one
    /// that failed in a whole run is an upper one.
    pub fn verified_bracket(&self) -> Bracket {
        if self.verifications == 0 {
            return self.bracket;
        }
        let low = self.verified.and_then(|verified| verified.holds);
        Bracket { low, high: self.verified.and_then(|verified| verified.failed).or(self.bracket.high) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a search in which rates up to `peak` pass; the rates tried, and how it ended.
    fn searched(mut search: Search, peak: f64, most: usize) -> (Vec<f64>, Step) {
        let mut tried = Vec::new();
        while let Some(load) = search.next().load() {
            tried.push(load);
            search.answer(load <= peak);
            if tried.len() == most {
                break;
            }
        }
        (tried, search.next())
    }

    fn official(base: f64, step_size: f64, decimals: i32) -> Search {
        Search::new(base, step_size, Precision::Decimals(decimals), false)
    }

    #[test]
    fn a_share_ends_halving_where_more_would_measure_noise() {
        let (tried, end) = searched(Search::new(100.0, 1.0, Precision::Share(0.01), false), 1_000.0, 99);
        let Step::Found { load } = end else { panic!("{end:?}") };
        assert!(load <= 1_000.0 && load > 985.0 && tried.len() <= 12, "{load} after {tried:?}");
    }

    #[test]
    fn whole_loads_stay_whole_and_end_at_the_last_one() {
        for peak in 1..200_u32 {
            let search = Search::new(1.0, 0.3, Precision::Share(0.0), true);
            let (tried, end) = searched(search, f64::from(peak), 99);
            assert!(tried.iter().all(|load| load.fract() == 0.0), "{tried:?}");
            assert_eq!(end, Step::Found { load: f64::from(peak) }, "{tried:?}");
        }
    }

    #[test]
    fn a_failed_verification_steps_back_by_one_or_by_a_share() {
        let whole = Search::new(4.0, 1.0, Precision::Share(0.01), true).with_verifications(1, 0.01);
        let below = |load| whole.below(load, 0.01);
        assert_eq!((below(4.0), below(500.0), below(1.0)), (Some(3.0), Some(495.0), None));
        let rate = Search::new(4.0, 1.0, Precision::Share(0.01), false).with_verifications(1, 0.02);
        assert_eq!((rate.below(100.0, 0.02), rate.below(0.0, 0.02)), (Some(98.0), None));
    }

    #[test]
    fn what_was_found_passes_whole_runs_or_is_lowered_until_it_does() {
        let mut search = Search::new(8.0, 1.0, Precision::Share(0.01), true).with_verifications(2, 0.01);
        let mut verified = Vec::new();
        while let Some(load) = search.next().load() {
            let is_verification = search.next().is_verification();
            verified.extend(is_verification.then_some(load));
            // Trials pass up to 11, whole runs up to 9.
            search.answer(load <= if is_verification { 9.0 } else { 11.0 });
        }
        assert_eq!(verified, [11.0, 10.0, 9.0, 9.0]);
        assert_eq!(search.next(), Step::Found { load: 9.0 });
        assert_eq!(search.verified_bracket(), Bracket { low: Some(9.0), high: Some(10.0) });
        assert_eq!(search.bracket(), Bracket { low: Some(11.0), high: Some(12.0) });
    }

    #[test]
    fn trials_that_promise_far_too_much_cost_few_whole_runs() {
        for holds in [990.0, 700.0, 331.0, 12.0] {
            let mut search = Search::new(100.0, 1.0, Precision::Share(0.01), false).with_verifications(1, 0.01);
            let mut whole_runs = 0;
            while let Some(load) = search.next().load() {
                let is_verification = search.next().is_verification();
                whole_runs += usize::from(is_verification);
                search.answer(load <= if is_verification { holds } else { 1_000.0 });
            }
            let Bracket { low: Some(low), high: Some(high) } = search.verified_bracket() else { panic!("{search:?}") };
            assert!(low <= holds && holds < high && high - low <= 0.0151 * low, "{holds}: {low} to {high}");
            assert!(whole_runs <= 20, "{holds}: {whole_runs}");
        }
    }

    #[test]
    fn a_search_ends_where_no_load_is_verified() {
        let mut search = Search::new(2.0, 1.0, Precision::Share(0.01), true).with_verifications(1, 0.01);
        while let Some(load) = search.next().load() {
            search.answer(load <= 3.0 && !search.next().is_verification());
        }
        assert_eq!(search.next(), Step::NotVerified);
        assert_eq!(search.verified_bracket(), Bracket { low: None, high: Some(1.0) });
    }

    #[test]
    fn the_rates_are_those_of_the_official_search() {
        let (tried, end) = searched(official(200.0, 1.0, 0), 1_641.0, 99);
        let official = [
            200.0, 400.0, 800.0, 1600.0, 3200.0, 2400.0, 2000.0, 1800.0, 1700.0, 1650.0, 1625.0, 1637.5, 1643.75,
            1640.625, 1642.1875, 1641.40625,
        ];
        assert_eq!(tried, official);
        assert_eq!(end, Step::Found { load: 1640.625 });
        assert_eq!(end.message().unwrap(), "FindPeakPerformance: Found peak performance field: 1640.625000");
    }

    #[test]
    fn a_base_rate_that_fails_is_the_end() {
        assert_eq!(searched(official(5.0, 0.5, 1), 4.0, 99), (vec![5.0], Step::BaseFails));
    }

    #[test]
    fn more_precision_than_numbers_have_ends_all_the_same() {
        let (tried, end) = searched(official(3.0, 1.0, 15), 1e9, 500);
        assert!(tried.len() < 120, "{}", tried.len());
        assert!(matches!(end, Step::Found { load } if (load - 1e9).abs() < 1e-3), "{end:?}");
    }

    #[test]
    fn brackets_always_hold_the_peak() {
        for peak in [1.0, 1.05, 7.77, 123.456, 99_999.9] {
            let mut search = official(1.0, 0.37, 2);
            while let Some(load) = search.next().load() {
                search.answer(load <= peak);
                let Bracket { low, high } = search.bracket();
                assert!(low.is_none_or(|low| low <= peak) && high.is_none_or(|high| high > peak));
            }
            let Step::Found { load } = search.next() else { panic!("{:?}", search.next()) };
            assert!(load <= peak && peak - load < 0.02, "{load} for {peak}");
        }
    }
}
