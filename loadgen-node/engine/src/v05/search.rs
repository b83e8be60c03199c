//! The search for the highest value that keeps the rule on latencies: results in, the next value or the end out.
//!
//! The requested value must pass, then it grows until one fails, then the bracket is halved. Server searches a rate,
//! both kinds of MultiStream the samples per query. It neither runs nor judges anything; `test` does what it wants.

use super::effective::Effective;
use super::scenario::Searched;
use crate::run::Bracket;

/// A value of the number that is searched.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Peak {
    /// Samples in each query.
    Samples(u64),
    /// Queries per second.
    Rate(f64),
}

impl Peak {
    /// The value as a number.
    pub fn number(self) -> f64 {
        match self {
            Self::Samples(samples) => samples as f64,
            Self::Rate(qps) => qps,
        }
    }

    /// The value as the log has it.
    pub fn printed(self) -> String {
        match self {
            Self::Samples(samples) => samples.to_string(),
            Self::Rate(qps) => format!("{qps:.6}"),
        }
    }
}

/// The part of a search to which a trial belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The requested value.
    Base,
    /// A larger value, until one fails.
    Widen,
    /// The middle of the bracket.
    Bisect,
    /// A whole run at the value that the search found.
    Verify,
}

/// A value that a search wants to know about, and its bounds at that moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wish {
    /// The part of the search.
    pub part: Part,
    /// The highest value that had passed.
    pub lower: Option<Peak>,
    /// The lowest value that had failed.
    pub upper: Option<Peak>,
    /// The value to try.
    pub value: Peak,
}

impl Wish {
    /// Both bounds as numbers.
    pub fn bracket(&self) -> Bracket {
        let [low, high] = [self.lower, self.upper].map(|bound| bound.map(Peak::number));
        Bracket { low, high }
    }

    /// True for a whole run of a value that the search has found.
    pub fn is_verification(&self) -> bool {
        self.part == Part::Verify
    }
}

/// The next step of a search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    /// Try a value.
    Try(Wish),
    /// The search is over: this is the highest value that passed.
    Found(Peak),
    /// The search is over: the requested value itself fails.
    BaseFails,
}

/// A search and what it knows so far.
#[derive(Clone, Copy, Debug)]
pub struct Search {
    base: Peak,
    growth: f64,
    scale: f64,
    lower: Option<Peak>,
    upper: Option<Peak>,
}

impl Search {
    /// The search that a scenario has; `None`: it has none.
    pub fn new(effective: &Effective) -> Option<Self> {
        let settings = &effective.requested;
        let base = match effective.shape.searched? {
            Searched::SamplesPerQuery => Peak::Samples(effective.samples_per_query),
            Searched::QueryRate => Peak::Rate(effective.target_qps),
        };
        let scale = 10_f64.powi(settings.server_find_peak_qps_decimals_of_precision);
        let growth = 1.0 + settings.server_find_peak_qps_boundary_step_size;
        Some(Self { base, growth, scale, lower: None, upper: None })
    }

    /// The next step. Widening ends when its caller can run no larger value.
    pub fn next(&self) -> Step {
        let (part, value) = match (self.lower, self.upper) {
            (None, None) => (Part::Base, self.base),
            (None, Some(_)) => return Step::BaseFails,
            (Some(lower), None) => (Part::Widen, self.widened(lower)),
            (Some(lower), Some(upper)) => match self.middle(lower, upper) {
                Some(middle) => (Part::Bisect, middle),
                None => return Step::Found(lower),
            },
        };
        Step::Try(Wish { part, lower: self.lower, upper: self.upper, value })
    }

    /// Takes the result of the value that [`Search::next`] wanted.
    pub fn answer(&mut self, passed: bool) {
        if let Step::Try(Wish { value, .. }) = self.next() {
            *(if passed { &mut self.lower } else { &mut self.upper }) = Some(value);
        }
    }

    /// The value to verify where the verification of another one failed: a sample less, or a rate lower by the share
    /// `step_back`. `None`: no lower value makes sense.
    pub fn below(value: Peak, step_back: f64) -> Option<Peak> {
        match value {
            Peak::Samples(samples) => (samples > 1).then(|| Peak::Samples(samples - 1)),
            Peak::Rate(qps) => {
                let lower = qps * (1.0 - step_back);
                (f64::MIN_POSITIVE <= lower && lower < qps).then_some(Peak::Rate(lower))
            }
        }
    }

    /// Both bounds, once the first larger value has failed.
    pub fn bounds(&self) -> Option<(Peak, Peak)> {
        self.lower.zip(self.upper)
    }

    fn widened(&self, lower: Peak) -> Peak {
        match lower {
            Peak::Samples(samples) => Peak::Samples(samples.saturating_mul(2)),
            Peak::Rate(qps) => Peak::Rate(qps * self.growth),
        }
    }

    /// The value between two bounds; `None` when they are as close as wanted.
    fn middle(&self, lower: Peak, upper: Peak) -> Option<Peak> {
        match (lower, upper) {
            (Peak::Samples(low), Peak::Samples(high)) => {
                (low.saturating_add(1) < high).then(|| Peak::Samples(low + (high - low) / 2))
            }
            (Peak::Rate(low), Peak::Rate(high)) => {
                let middle = low + (high - low) / 2.0;
                let is_wide = (low * self.scale).floor() + 1.0 < (high * self.scale).floor();
                // More decimals than numbers have end the search as well.
                (is_wide && low < middle && middle < high).then_some(Peak::Rate(middle))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::scenario::Scenario;
    use super::super::settings::Settings;
    use super::*;
    use crate::settings::Qsl;

    fn searched(change: impl FnOnce(&mut Settings), passes: impl Fn(Peak) -> bool) -> (Vec<Peak>, Step) {
        let mut settings = Settings::default();
        change(&mut settings);
        let effective = Effective::new(&settings, Qsl { total: 9, performance: 9 }, &mut Vec::new()).unwrap();
        let mut search = Search::new(&effective).unwrap();
        let mut tried = Vec::new();
        while let Step::Try(Wish { value, .. }) = search.next() {
            tried.push(value);
            search.answer(passes(value));
        }
        (tried, search.next())
    }

    #[test]
    fn samples_per_query_are_doubled_and_halved_in_whole_numbers() {
        let multi = |s: &mut Settings| (s.scenario, s.multi_stream_samples_per_query) = (Scenario::MultiStream, 5);
        let (tried, end) = searched(multi, |value| matches!(value, Peak::Samples(..=5)));
        assert_eq!(tried, [5, 10, 7, 6].map(Peak::Samples));
        assert_eq!(end, Step::Found(Peak::Samples(5)));
        let (tried, end) = searched(multi, |_| false);
        assert_eq!((tried.len(), end), (1, Step::BaseFails));
    }

    #[test]
    fn rates_grow_by_the_step_and_narrow_to_the_decimals() {
        let server = |s: &mut Settings| {
            s.scenario = Scenario::Server;
            s.server_target_qps = 20.0;
            s.server_find_peak_qps_boundary_step_size = 0.5;
        };
        let (tried, end) = searched(server, |value| matches!(value, Peak::Rate(qps) if qps <= 77.7));
        assert_eq!(tried[..6], [20.0, 30.0, 45.0, 67.5, 101.25, 84.375].map(Peak::Rate));
        assert_eq!(end, Step::Found(Peak::Rate(77.651_367_187_5)));
        assert_eq!(Peak::Rate(77.651_367_187_5).printed(), "77.651367");
    }

    #[test]
    fn single_stream_and_offline_have_none() {
        for scenario in [Scenario::SingleStream, Scenario::Offline] {
            let settings = Settings { scenario, ..Settings::default() };
            let effective = Effective::new(&settings, Qsl { total: 9, performance: 9 }, &mut Vec::new()).unwrap();
            assert!(Search::new(&effective).is_none());
        }
    }
}
