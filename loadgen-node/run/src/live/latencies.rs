//! A histogram of latencies that is cheap to fill: one addition a value, in fixed memory.

use loadgen::recorder::Buckets;

/// Values are known to 0.8 %.
const BUCKETS: Buckets = Buckets::new(7);

/// Number of values in each bucket; values are in ns.
#[derive(Clone, Debug)]
pub struct Latencies {
    counts: Box<[u64]>,
    sum_ns: u64,
    max_ns: u64,
}

/// Percentiles of some values, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Percentiles {
    /// Number of values.
    pub count: u64,
    /// The median, in ns.
    pub p50_ns: u64,
    /// The 90th percentile, ns.
    pub p90_ns: u64,
    /// The 99th percentile, ns.
    pub p99_ns: u64,
    /// The 99.9th percentile, ns.
    pub p99_9_ns: u64,
    /// The percentile that is judged.
    pub judged_ns: u64,
    /// The largest, not rounded.
    pub max_ns: u64,
}

/// Percentiles of the last seconds and of all of a phase; none where there are no values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spread {
    /// Of the last seconds.
    pub recent: Option<Percentiles>,
    /// Of all so far.
    pub so_far: Option<Percentiles>,
}

impl Default for Latencies {
    fn default() -> Latencies {
        Latencies { counts: vec![0; BUCKETS.count()].into(), sum_ns: 0, max_ns: 0 }
    }
}

impl Latencies {
    /// Adds a value.
    #[inline]
    pub fn record(&mut self, ns: u64) {
        if let Some(count) = self.counts.get_mut(BUCKETS.of(ns)) {
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
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Returns the upper end of each bucket that has values, ns, with their number, the shortest first. Each value is
    /// right to within 0.8 %.
    pub fn counts(&self) -> impl Iterator<Item = (u64, u64)> {
        let counts = self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        counts.map(|(bucket, count)| (BUCKETS.largest_ns(bucket), *count))
    }

    /// All values together, ns.
    pub fn sum_ns(&self) -> u64 {
        self.sum_ns
    }

    /// Returns the number of values within each of these limits, ns, which ascend. A limit is met to within 0.8 %.
    pub fn within<const N: usize>(&self, limits_ns: [u64; N]) -> [u64; N] {
        let (mut sum, mut next) = (0, 0);
        limits_ns.map(|limit_ns| {
            while let Some(count) = self.counts.get(next).filter(|_| BUCKETS.largest_ns(next) <= limit_ns) {
                sum += count;
                next += 1;
            }
            sum
        })
    }

    /// The percentiles, `judged` among them as a fraction; none when there are no values.
    pub(crate) fn percentiles(&self, judged: f64) -> Option<Percentiles> {
        let count = self.count();
        let counts = self.counts.iter().copied();
        let at = |share: f64| BUCKETS.share_ns(share, counts.clone()).unwrap_or(self.max_ns).min(self.max_ns);
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
}

#[cfg(test)]
mod tests {
    use super::*;

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
