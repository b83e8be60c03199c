//! Number of queries that a tail latency needs: the official table behind the query counts of the benchmarks.
//!
//! A percentile is measured to within a twentieth of the tail at 99 % confidence; the count is rounded up to the next
//! multiple of 2^13. Beside it the least with which early stopping can be met, which is what decides today.

use statrs::distribution::{ContinuousCDF as _, Normal};

use super::binomial::Bound;
use super::rule::{CONFIDENCE, Rule};

/// Counts are rounded up to multiples of this.
const UNIT: u64 = 1 << 13;

/// The tail is measured to within this share of it.
const MARGIN_SHARE: f64 = 1.0 / 20.0;

/// Number of queries that it takes to measure a percentile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QueryCount {
    /// The percentile, as a fraction.
    pub percentile: f64,
    /// Half the width of the interval around it.
    pub margin: f64,
    /// The probability that the percentile is in that interval.
    pub confidence: f64,
    /// Queries needed for that, to the nearest.
    pub queries: u64,
    /// `queries`, rounded up to a multiple of 2^13.
    pub rounded: u64,
}

impl QueryCount {
    /// The count for a percentile between 0 and 1, both excluded.
    pub fn of(percentile: f64) -> QueryCount {
        let tail = 1.0 - percentile;
        let margin = tail * MARGIN_SHARE;
        let z = Normal::standard().inverse_cdf(f64::midpoint(1.0, CONFIDENCE));
        let queries = (z * z * percentile * tail / (margin * margin)).round() as u64;
        let rounded = queries.div_ceil(UNIT).saturating_mul(UNIT);
        QueryCount { percentile, margin, confidence: CONFIDENCE, queries, rounded }
    }
}

/// A fraction as percent, without what the product adds in the last digits.
pub fn percent(fraction: f64) -> f64 {
    (fraction * 1e11).round() / 1e9
}

/// Steps in which the number of queries is found; each goes on from what the one before asked for.
const MOST_STEPS: u32 = 1_000;

/// Queries beyond which no run goes on for early stopping. A bound on as many more takes seconds to find.
const FAR: u64 = 1 << 33;

/// The estimate is good from here on; of fewer queries each number is looked at.
const MANY: f64 = 100_000.0;

/// The share of the estimated number of queries at which the search for the true one begins.
const FROM_ESTIMATE: f64 = 0.9;

/// The search goes on in steps of one in so many.
const ESTIMATE_STEPS: u64 = 50;

/// The percentiles of the official table.
pub const USUAL: [f64; 4] = [0.90, 0.95, 0.97, 0.99];

impl Rule {
    /// Fewest queries with which it can be met, at a percentile between 0 and 1.
    pub fn least_queries(self, percentile: f64) -> u64 {
        let bound = Bound::new(percentile, 0.0, CONFIDENCE);
        match self {
            Rule::None => 0,
            Rule::Estimate { .. } => bound.min_passing(1) + 1,
            // This is the least number when no query is over the limit.
            Rule::Limit => bound.min_passing(0),
        }
    }

    /// Fewest queries, about, with which it is met where a share of them is over the limit, at a percentile between 0
    /// and 1. None: no number of queries is enough.
    pub fn queries_for(self, percentile: f64, late_share: f64) -> Option<u64> {
        let mut queries = self.least_queries(percentile);
        if self != Rule::Limit {
            return Some(queries);
        }
        // By the normal distribution. Near the percentile itself there is no end.
        let spare = 1.0 - percentile - late_share;
        let z = Normal::standard().inverse_cdf(CONFIDENCE);
        let estimate = z * z * percentile * (1.0 - percentile) / (spare * spare);
        if spare <= 0.0 || estimate > FAR as f64 {
            return None;
        }
        let bound = Bound::new(percentile, 0.0, CONFIDENCE);
        let needed = |queries: u64| {
            let late = (late_share * queries as f64).ceil() as u64;
            bound.min_passing(late).saturating_add(late)
        };
        if estimate > MANY {
            let mut queries = (estimate * FROM_ESTIMATE) as u64;
            while needed(queries) > queries {
                queries += queries / ESTIMATE_STEPS;
            }
            return Some(queries);
        }
        // A number of queries asks for some more, and those for more again.
        for _ in 0..MOST_STEPS {
            let needed = needed(queries);
            if needed <= queries {
                return Some(queries);
            }
            queries = needed;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_those_of_the_official_table() {
        let counts = USUAL.map(|percentile| {
            let count = QueryCount::of(percentile);
            (count.queries, count.rounded)
        });
        assert_eq!(counts, [(23_886, 24_576), (50_425, 57_344), (85_811, 90_112), (262_742, 270_336)]);
    }

    #[test]
    fn percents_are_as_they_were_meant() {
        assert_eq!([0.9, 0.950_000_000_000_000_1, 0.999_999].map(percent), [90.0, 95.0, 99.9999]);
    }

    #[test]
    fn early_stopping_needs_far_fewer() {
        let estimate = Rule::Estimate { with_99th: false };
        assert_eq!((estimate.least_queries(0.9), estimate.least_queries(0.99)), (64, 662));
        assert_eq!((Rule::Limit.least_queries(0.99), Rule::None.least_queries(0.9)), (459, 0));
    }

    #[test]
    fn a_share_of_late_queries_asks_for_more() {
        let needed = |share| Rule::Limit.queries_for(0.99, share);
        assert_eq!(needed(0.0), Some(459));
        let some = needed(0.005).unwrap();
        let late = (0.005 * some as f64).ceil() as u64;
        assert!(Bound::new(0.99, 0.0, CONFIDENCE).min_passing(late) + late <= some && some > 459, "{some}");
        assert!(needed(0.009).unwrap() > some);
        assert_eq!([needed(0.01), needed(0.5)], [None; 2], "as many as the percentile leaves out");
        // These took minutes once: each step asked for a few more, and each cost more.
        for near in 1..200 {
            assert_eq!(Rule::Limit.queries_for(0.9, 0.1 + f64::from(near) * 1e-5), None);
            assert!(Rule::Limit.queries_for(0.9, 0.1 - f64::from(near) * 1e-4).is_some());
        }
        assert_eq!(Rule::Estimate { with_99th: false }.queries_for(0.9, 0.5), Some(64));
    }
}
