//! A histogram of latencies that is cheap to fill: one addition a value, in fixed memory.

/// Buckets are as wide as the value's power of two over this: values are known to 0.8 %.
const PARTS_BITS: u32 = 7;
/// Longer values count as this long: more than an hour.
const MAX_BITS: u32 = 42;
const BUCKETS: usize = (MAX_BITS as usize - PARTS_BITS as usize + 1) << PARTS_BITS;

/// Number of values in each bucket; values are in ns.
#[derive(Clone, Debug)]
pub(crate) struct Latencies {
    counts: Box<[u64]>,
    sum_ns: u64,
    max_ns: u64,
}

/// Percentiles of some values, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Percentiles {
    /// Number of values.
    pub(crate) count: u64,
    pub(crate) p50_ns: u64,
    pub(crate) p90_ns: u64,
    pub(crate) p99_ns: u64,
    pub(crate) p99_9_ns: u64,
    /// The percentile that is judged.
    pub(crate) judged_ns: u64,
    /// The largest, not rounded.
    pub(crate) max_ns: u64,
}

/// Percentiles of the last seconds and of all of a phase; none where there are no values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Spread {
    /// Of the last seconds.
    pub(crate) recent: Option<Percentiles>,
    /// Of all so far.
    pub(crate) so_far: Option<Percentiles>,
}

impl Default for Latencies {
    fn default() -> Latencies {
        Latencies { counts: vec![0; BUCKETS].into(), sum_ns: 0, max_ns: 0 }
    }
}

impl Latencies {
    /// Adds a value.
    #[inline]
    pub(crate) fn record(&mut self, ns: u64) {
        let limited = ns.min((1 << MAX_BITS) - 1);
        if let Some(count) = self.counts.get_mut(bucket(limited)) {
            *count += 1;
        }
        self.sum_ns = self.sum_ns.saturating_add(ns);
        self.max_ns = self.max_ns.max(ns);
    }

    /// Adds all values of another.
    pub(crate) fn add(&mut self, more: &Latencies) {
        self.counts.iter_mut().zip(&more.counts).for_each(|(ours, theirs)| *ours += theirs);
        self.sum_ns = self.sum_ns.saturating_add(more.sum_ns);
        self.max_ns = self.max_ns.max(more.max_ns);
    }

    /// Returns the number of values.
    pub(crate) fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Returns the upper end of each bucket that has values, ns, with their number, the shortest first. Each value is
    /// right to within 0.8 %.
    pub(crate) fn counts(&self) -> impl Iterator<Item = (u64, u64)> {
        let counts = self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        counts.map(|(bucket, count)| (largest_of(bucket), *count))
    }

    /// All values together, ns.
    pub(crate) fn sum_ns(&self) -> u64 {
        self.sum_ns
    }

    /// Returns the number of values within each of these limits, ns, which ascend. A limit is met to within 0.8 %.
    pub(crate) fn within<const N: usize>(&self, limits_ns: [u64; N]) -> [u64; N] {
        let (mut sum, mut next) = (0, 0);
        limits_ns.map(|limit_ns| {
            while let Some(count) = self.counts.get(next).filter(|_| largest_of(next) <= limit_ns) {
                sum += count;
                next += 1;
            }
            sum
        })
    }

    /// The percentiles, `judged` among them as a fraction; none when there are no values.
    pub(crate) fn percentiles(&self, judged: f64) -> Option<Percentiles> {
        let count = self.count();
        let at = |fraction: f64| self.at(fraction, count);
        (count > 0).then(|| Percentiles {
            count,
            p50_ns: at(0.5),
            p90_ns: at(0.9),
            p99_ns: at(0.99),
            p99_9_ns: at(0.999),
            judged_ns: at(judged),
            max_ns: self.max_ns,
        })
    }

    fn at(&self, fraction: f64, count: u64) -> u64 {
        let rank = ((fraction * count as f64).ceil() as u64).max(1);
        let mut sum = 0;
        let bucket = self.counts.iter().position(|count| {
            sum += count;
            sum >= rank
        });
        bucket.map_or(self.max_ns, largest_of).min(self.max_ns)
    }
}

/// The bucket of a value. Below 256 ns each has one of its own.
#[inline]
fn bucket(ns: u64) -> usize {
    let parts = 1 << PARTS_BITS;
    let shift = u64::BITS - (ns | (2 * parts - 1)).leading_zeros() - (PARTS_BITS + 1);
    ((u64::from(shift) << PARTS_BITS) + (ns >> shift)) as usize
}

/// The largest value of a bucket, ns.
fn largest_of(bucket: usize) -> u64 {
    let shift = (bucket >> PARTS_BITS).saturating_sub(1);
    let first = (bucket - (shift << PARTS_BITS)) as u64;
    ((first + 1) << shift) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_hold_the_values_that_lead_to_them() {
        for ns in (0..3_000).chain([1 << 20, (1 << 41) + 12_345, (1 << MAX_BITS) - 1]) {
            let largest = largest_of(bucket(ns));
            assert!(bucket(largest) == bucket(ns) && bucket(largest + 1) == bucket(ns) + 1, "{ns}");
            assert!(largest >= ns && (largest - ns) as f64 <= ns as f64 * 0.008, "{ns} {largest}");
        }
        assert_eq!(bucket((1 << MAX_BITS) - 1), BUCKETS - 1);
    }

    #[test]
    fn percentiles_are_close_and_the_largest_is_exact() {
        let mut all = Latencies::default();
        assert_eq!(all.percentiles(0.99), None);
        (1..=1_000).for_each(|ms| all.record(ms * 1_000_000));
        all.record(u64::MAX >> 1);
        let percentiles = all.percentiles(0.97).unwrap();
        for (ns, ms) in [
            (percentiles.p50_ns, 501),
            (percentiles.p90_ns, 901),
            (percentiles.p99_ns, 991),
            (percentiles.judged_ns, 971),
        ] {
            assert!((ns as f64 / 1e6 / f64::from(ms) - 1.0).abs() < 0.008, "{percentiles:?}");
        }
        assert_eq!((percentiles.count, percentiles.max_ns), (1_001, u64::MAX >> 1));
    }

    #[test]
    fn limits_say_how_many_are_within() {
        let (mut all, mut more) = (Latencies::default(), Latencies::default());
        [10, 20, 1_000].into_iter().for_each(|ns| all.record(ns));
        more.record(5_000_000);
        all.add(&more);
        assert_eq!(all.within([9, 10, 999, 1_010, 10_000_000]), [0, 1, 2, 3, 4]);
        assert_eq!((all.count(), all.sum_ns()), (4, 5_001_030));
    }
}
