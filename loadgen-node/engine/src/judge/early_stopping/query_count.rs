//! How many queries a tail latency needs: the official table behind the query counts of the benchmarks.
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

/// How many queries it takes to measure a percentile.
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

/// The percentiles of the official table.
pub const USUAL: [f64; 4] = [0.90, 0.95, 0.97, 0.99];

impl Rule {
    /// Fewest queries with which it can be met, at a percentile between 0 and 1.
    pub fn least_queries(self, percentile: f64) -> u64 {
        let bound = Bound::new(percentile, 0.0, CONFIDENCE);
        match self {
            Rule::None => 0,
            Rule::Estimate { .. } => bound.min_passing(1) + 1,
            // None over the limit.
            Rule::Limit => bound.min_passing(0),
        }
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
}
