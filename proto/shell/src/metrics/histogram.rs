//! Histograms: those of durations, counted as samples pass, and what any histogram holds.
//!
//! Each has classic buckets. Those of durations have native ones, too, which only the protobuf exposition tells.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::native::{self, Native};

/// The upper ends of the buckets of durations, in ns: 1, 2 and 5 of each power of ten from 1 us to 100 s.
pub const DURATION_BOUNDS_NS: [u64; 25] = {
    let mut bounds = [0; 25];
    let (mut power, mut at) = (1_000, 0);
    while at < bounds.len() {
        bounds[at] = power * [1, 2, 5][at % 3];
        at += 1;
        if at % 3 == 0 {
            power *= 10;
        }
    }
    bounds
};

/// The number of durations in each bucket. One thread at a time adds, without a lock and without a locked instruction;
/// any thread reads.
#[derive(Debug)]
pub struct Durations {
    /// One more than there are bounds: the last holds what is longer than all of them.
    counts: [AtomicU64; DURATION_BOUNDS_NS.len() + 1],
    /// The native buckets, from the lowest index on.
    native: Box<[AtomicU64]>,
    sum_ns: AtomicU64,
}

impl Default for Durations {
    fn default() -> Durations {
        let native = native::INDICES.map(|_| AtomicU64::default()).collect();
        Durations { counts: Default::default(), native, sum_ns: AtomicU64::default() }
    }
}

impl Durations {
    /// Counts a duration. Not to be called by two threads at one time: then one of the two may be lost.
    pub fn add(&self, duration_ns: u64) {
        let bucket = DURATION_BOUNDS_NS.partition_point(|bound| *bound < duration_ns);
        // There is one more bucket than there are bounds.
        if let Some(count) = self.counts.get(bucket) {
            grow(count, 1);
        }
        let index = native::index(duration_ns).and_then(|index| usize::try_from(index - native::INDICES.start()).ok());
        if let Some(count) = index.and_then(|index| self.native.get(index)) {
            grow(count, 1);
        }
        grow(&self.sum_ns, duration_ns);
    }

    /// Returns the counts until now. A duration that is being added may be in the sum and not yet in its bucket, or the
    /// other way round.
    pub fn buckets(&self) -> Buckets {
        let counts = self.counts.each_ref().map(|count| count.load(Relaxed));
        let bounds = DURATION_BOUNDS_NS.map(seconds);
        let mut native = Native::default();
        for (index, count) in native::INDICES.zip(&self.native) {
            native.add_to(Some(index), count.load(Relaxed));
        }
        let all: u64 = counts.iter().sum();
        let some: u64 = native.counts().map(|(_, count)| count).sum();
        // Those of no length are not counted apart.
        native.add_to(None, all.saturating_sub(some));
        Buckets::new(&bounds, &counts, seconds(self.sum_ns.load(Relaxed))).with_native(native)
    }
}

/// Adds to a number that one thread alone writes, so that it needs no locked instruction.
fn grow(number: &AtomicU64, by: u64) {
    number.store(number.load(Relaxed).wrapping_add(by), Relaxed);
}

/// A duration in ns as metrics have it.
fn seconds(duration_ns: u64) -> f64 {
    duration_ns as f64 / 1e9
}

/// The content of a histogram: the number of values in each range, each range with its upper end.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Buckets {
    ranges: Vec<(f64, u64)>,
    native: Option<Native>,
    sum: f64,
}

impl Buckets {
    /// The values of `sum` in all of which `counts` lie up to each of the `bounds`, which rise; the last count is of
    /// what lies above all of them.
    pub fn new(bounds: &[f64], counts: &[u64], sum: f64) -> Buckets {
        let ends = bounds.iter().copied().chain([f64::INFINITY]);
        Buckets { ranges: ends.zip(counts.iter().copied()).collect(), native: None, sum }
    }

    /// With the same values in native buckets.
    #[must_use]
    pub fn with_native(mut self, native: Native) -> Buckets {
        self.native = Some(native);
        self
    }

    /// Adds what a histogram of the same ranges holds.
    pub fn add(&mut self, other: &Buckets) {
        if self.ranges.is_empty() {
            self.ranges.clone_from(&other.ranges);
        } else {
            for ((_, count), (_, more)) in self.ranges.iter_mut().zip(&other.ranges) {
                *count += more;
            }
        }
        if let Some(native) = &other.native {
            self.native.get_or_insert_default().merge(native);
        }
        self.sum += other.sum;
    }

    /// The sum of all values.
    pub fn sum(&self) -> f64 {
        self.sum
    }

    /// Returns the number of values.
    pub fn count(&self) -> u64 {
        self.ranges.iter().map(|(_, count)| count).sum()
    }

    /// The native buckets; none where they were not counted.
    pub fn native(&self) -> Option<&Native> {
        self.native.as_ref()
    }

    /// The upper end of each range, and how many values are in that range alone.
    pub fn ranges(&self) -> &[(f64, u64)] {
        &self.ranges
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_round_and_rise() {
        assert_eq!(&DURATION_BOUNDS_NS[..4], [1_000, 2_000, 5_000, 10_000]);
        assert_eq!(DURATION_BOUNDS_NS[24], 100_000_000_000);
        assert!(DURATION_BOUNDS_NS.is_sorted());
        // Shortest digits, as people would type them.
        assert_eq!(DURATION_BOUNDS_NS.map(seconds)[..3], [1e-6, 2e-6, 5e-6]);
    }

    #[test]
    fn a_duration_counts_up_to_its_bound_and_adds_to_the_sum() {
        let durations = Durations::default();
        for duration_ns in [0, 1_000, 1_001, 2_000, 100_000_000_000, u64::from(u32::MAX) << 8] {
            durations.add(duration_ns);
        }
        let buckets = durations.buckets();
        assert_eq!(buckets.count(), 6);
        assert_eq!(&buckets.ranges()[..2], [(1e-6, 2), (2e-6, 2)]);
        assert_eq!(&buckets.ranges()[24..], [(100.0, 1), (f64::INFINITY, 1)]);
        assert!((buckets.sum() - 1_199.511_631_617).abs() < 1e-6, "{}", buckets.sum());
        let mut all = Buckets::default();
        all.add(&buckets);
        all.add(&buckets);
        assert_eq!((all.count(), all.ranges()[0]), (12, (1e-6, 4)));
    }
}
