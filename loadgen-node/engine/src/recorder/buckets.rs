//! Buckets of histograms of times: one addition a value, in fixed memory.

/// Longer times count as this long: more than an hour.
const MAX_BITS: u32 = 42;

/// Buckets that are as wide as a value's power of two over `1 << parts_bits`.
///
/// Values are known to within one part in `1 << parts_bits`; those below two such numbers have a bucket of their own.
#[derive(Clone, Copy, Debug)]
pub struct Buckets {
    parts_bits: u32,
}

impl Buckets {
    /// The longest time that a bucket has, ns.
    pub const LONGEST_NS: u64 = (1 << MAX_BITS) - 1;

    /// Buckets of values that are known to within one part in `1 << parts_bits`.
    pub const fn new(parts_bits: u32) -> Buckets {
        Buckets { parts_bits }
    }

    /// The number of buckets.
    pub const fn count(self) -> usize {
        (MAX_BITS as usize - self.parts_bits as usize + 1) << self.parts_bits
    }

    /// The bucket of a time.
    #[inline]
    pub const fn of(self, ns: u64) -> usize {
        let ns = if ns < Self::LONGEST_NS { ns } else { Self::LONGEST_NS };
        let parts = 1 << self.parts_bits;
        let shift = u64::BITS - (ns | (2 * parts - 1)).leading_zeros() - (self.parts_bits + 1);
        (((shift as u64) << self.parts_bits) + (ns >> shift)) as usize
    }

    /// The largest time of a bucket, ns.
    pub const fn largest_ns(self, bucket: usize) -> u64 {
        let shift = (bucket >> self.parts_bits).saturating_sub(1);
        let first = (bucket - (shift << self.parts_bits)) as u64;
        ((first + 1) << shift) - 1
    }

    /// The upper end of the bucket in which a share of all values ends, ns; `None` where there is no value.
    pub fn share_ns(self, share: f64, counts: impl Iterator<Item = u64> + Clone) -> Option<u64> {
        let all: u64 = counts.clone().sum();
        let rank = ((share * all as f64).ceil() as u64).max(1);
        let mut reached = 0;
        let mut counts = counts;
        let bucket = counts.position(|count| {
            reached += count;
            reached >= rank
        });
        bucket.map(|bucket| self.largest_ns(bucket))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_hold_the_values_that_lead_to_them() {
        for (parts_bits, error) in [(7, 0.008), (10, 0.001)] {
            let buckets = Buckets::new(parts_bits);
            for ns in (0..3_000).chain([1 << 20, (1 << 41) + 12_345, Buckets::LONGEST_NS - 1]) {
                let largest = buckets.largest_ns(buckets.of(ns));
                assert_eq!(buckets.of(largest), buckets.of(ns), "{ns}");
                assert!(largest == Buckets::LONGEST_NS || buckets.of(largest + 1) == buckets.of(ns) + 1, "{ns}");
                assert!(largest >= ns && (largest - ns) as f64 <= ns as f64 * error, "{ns} {largest}");
            }
            assert_eq!(buckets.of(u64::MAX), buckets.count() - 1);
        }
    }

    #[test]
    fn a_share_of_the_values_ends_in_a_bucket() {
        let buckets = Buckets::new(7);
        let mut counts = vec![0; buckets.count()];
        assert_eq!(buckets.share_ns(0.5, counts.iter().copied()), None);
        (1..=100).for_each(|ns| counts[buckets.of(ns)] += 1);
        assert_eq!(buckets.share_ns(0.5, counts.iter().copied()), Some(50));
        assert_eq!(buckets.share_ns(1.0, counts.iter().copied()), Some(100));
    }
}
