//! Native buckets: of durations by their power of two, eight for each doubling (schema 3 of Prometheus).

use std::collections::BTreeMap;

/// The resolution, in Prometheus's words: buckets end at 2^(i/2^3) s.
pub(super) const SCHEMA: i32 = 3;

/// The limit below which a duration counts as nothing, s; the number that Prometheus's own libraries take.
pub(super) const ZERO_THRESHOLD: f64 = 2.938_735_877_055_719e-39;

const PARTS: i32 = 1 << SCHEMA;

/// The ends of the buckets of one doubling, 2^(k/8).
const ENDS: [f64; PARTS as usize] = [
    1.0,
    1.090_507_732_665_257_7,
    1.189_207_115_002_721,
    1.296_839_554_651_009_6,
    std::f64::consts::SQRT_2,
    1.542_210_825_407_940_7,
    1.681_792_830_507_429,
    1.834_008_086_409_342_4,
];

/// The number of durations in each bucket.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Native {
    zeros: u64,
    counts: BTreeMap<i32, u64>,
}

impl Native {
    /// Adds durations of this length.
    pub fn add(&mut self, duration_ns: u64, count: u64) {
        self.add_to(index(duration_ns), count);
    }

    /// Adds durations of one bucket; none: of no length.
    pub(super) fn add_to(&mut self, index: Option<i32>, count: u64) {
        match index {
            _ if count == 0 => {}
            None => self.zeros += count,
            Some(index) => *self.counts.entry(index).or_default() += count,
        }
    }

    /// Adds all of another.
    pub(super) fn merge(&mut self, other: &Native) {
        self.zeros += other.zeros;
        other.counts.iter().for_each(|(index, count)| self.add_to(Some(*index), *count));
    }

    /// Durations of no length.
    pub(super) fn zeros(&self) -> u64 {
        self.zeros
    }

    /// Buckets that are not empty, by their index, which rises.
    pub(super) fn counts(&self) -> impl Iterator<Item = (i32, u64)> {
        self.counts.iter().map(|(index, count)| (*index, *count))
    }
}

/// The lowest and the highest index of any duration.
pub(super) const INDICES: std::ops::RangeInclusive<i32> = -30 * PARTS..=35 * PARTS;

/// The bucket of a duration: the first whose end is not below it. None for no length.
pub(super) fn index(duration_ns: u64) -> Option<i32> {
    if duration_ns == 0 {
        return None;
    }
    // Sign 0, exponent and fraction of an f64; the number is 1 to 2 times a power of two.
    let bits = (duration_ns as f64 / 1e9).to_bits();
    let exponent = (bits >> 52) as i32 - 1_023;
    let fraction = f64::from_bits(bits & ((1 << 52) - 1) | (1_023 << 52));
    Some(exponent * PARTS + ENDS.partition_point(|end| *end < fraction) as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_in_the_first_bucket_that_does_not_end_below_it() {
        let end = |index: i32| 2_f64.powf(f64::from(index) / f64::from(PARTS));
        for ns in [1, 2, 999, 1_000, 123_456, 999_999_999, 1_000_000_000, 1_090_507_732, 2_000_000_000, u64::MAX] {
            let (index, s) = (index(ns).unwrap(), ns as f64 / 1e9);
            assert!(end(index) >= s * (1.0 - 1e-15) && end(index - 1) < s, "{ns} ns in bucket {index}");
            assert!(INDICES.contains(&index), "{index}");
        }
        assert_eq!([0, 1_000_000_000, 1_000_000_001].map(index), [None, Some(0), Some(1)]);
    }
}
