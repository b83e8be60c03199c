//! Schedule lag: how long after its due time a sample was handed to the network.
//!
//! It says whether the LoadGen node kept its schedule, or was itself the reason for late answers. It is only measured
//! here; whoever runs the engine judges it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use serde::{Deserialize, Serialize};

use super::buckets::Buckets;
use super::column::Column;

/// A lag is known to 0.1 %.
const BUCKETS: Buckets = Buckets::new(10);

/// Percentiles of the lag, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LagStats {
    /// Samples whose lag is known.
    pub count: u64,
    /// Median of the lag, ns.
    pub p50_ns: u64,
    /// 99th percentile of the lag, ns.
    pub p99_ns: u64,
    /// Largest lag, ns, not rounded.
    pub max_ns: u64,
}

/// The largest time between when samples were due and when they were sent, step by step.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LagCourse {
    /// The length of a step, ns; 0 where there is none.
    pub step_ns: u64,
    /// The largest lag of the samples that were due in each step, ns; 0 where none was, or none was late.
    pub largest_ns: Vec<u64>,
}

/// Steps of a course at most. When a phase is longer, two become one.
const STEPS: usize = 256;
/// The length of the first steps: 2 to the power of this, ns (about 67 ms).
const FIRST_SHIFT: u32 = 26;

/// The course of a phase that goes on, in fixed memory.
#[derive(Debug)]
struct Steps {
    /// Steps are 2 to the power of this long, ns.
    shift: u32,
    largest_ns: Vec<u64>,
}

impl Steps {
    #[inline]
    fn record(&mut self, due_ns: u64, lag_ns: u64) {
        let step = (due_ns >> self.shift) as usize;
        match self.largest_ns.get_mut(step) {
            Some(largest_ns) => *largest_ns = (*largest_ns).max(lag_ns),
            None => self.reach(due_ns, lag_ns),
        }
    }

    /// Makes room for a later step.
    #[cold]
    fn reach(&mut self, due_ns: u64, lag_ns: u64) {
        while (due_ns >> self.shift) as usize >= STEPS {
            self.shift += 1;
            self.largest_ns = self.largest_ns.chunks(2).filter_map(|pair| pair.iter().copied().max()).collect();
        }
        let step = (due_ns >> self.shift) as usize;
        if step >= self.largest_ns.len() {
            self.largest_ns.resize(step + 1, 0);
        }
        self.largest_ns[step] = self.largest_ns[step].max(lag_ns);
    }
}

/// The lags of a phase, in fixed memory.
#[derive(Debug)]
pub(crate) struct Lag {
    shared: Arc<SharedLag>,
    /// The histogram rounds; the largest lag is kept as it is.
    max_ns: u64,
    steps: Steps,
}

/// Counts of the lags that other threads can read while lags are recorded.
#[derive(Debug)]
pub(crate) struct SharedLag {
    /// Number of lags in each bucket.
    counts: Column<u64>,
    max_ns: AtomicU64,
    /// The largest since a reader last took it.
    recent_ns: AtomicU64,
}

impl Default for SharedLag {
    fn default() -> Self {
        Self { counts: Column::new(BUCKETS.count()), max_ns: AtomicU64::new(0), recent_ns: AtomicU64::new(0) }
    }
}

impl SharedLag {
    #[inline]
    fn record(&self, lag_ns: u64) {
        self.counts.change(BUCKETS.of(lag_ns), |count| count + 1);
        // Hardly ever the largest, so that it is rarely written.
        if lag_ns > self.recent_ns.load(Relaxed) {
            self.recent_ns.fetch_max(lag_ns, Relaxed);
        }
    }

    /// The lags until now.
    pub(crate) fn stats(&self) -> LagStats {
        let count: u64 = self.counts.iter().sum();
        let max_ns = self.max_ns.load(Relaxed);
        let at = |share: f64| BUCKETS.share_ns(share, self.counts.iter()).unwrap_or(max_ns).min(max_ns);
        if count == 0 {
            return LagStats::default();
        }
        LagStats { count, p50_ns: at(0.5), p99_ns: at(0.99), max_ns }
    }

    /// The largest lag since this was last called.
    pub(crate) fn take_recent_ns(&self) -> u64 {
        self.recent_ns.swap(0, Relaxed)
    }
}

impl Lag {
    pub(crate) fn new() -> Self {
        let steps = Steps { shift: FIRST_SHIFT, largest_ns: Vec::with_capacity(STEPS) };
        Self { shared: Arc::default(), max_ns: 0, steps }
    }

    /// Of a sample that was due so many ns after the start of the phase.
    #[inline]
    pub(crate) fn record(&mut self, due_ns: u64, lag_ns: u64) {
        if lag_ns > self.max_ns {
            self.max_ns = lag_ns;
            self.shared.max_ns.store(lag_ns, Relaxed);
        }
        self.steps.record(due_ns, lag_ns);
        self.shared.record(lag_ns);
    }

    /// For other threads to read.
    pub(crate) fn live(&self) -> Arc<SharedLag> {
        Arc::clone(&self.shared)
    }

    pub(crate) fn course(&self) -> LagCourse {
        let Steps { shift, largest_ns } = &self.steps;
        let step_ns = if largest_ns.is_empty() { 0 } else { 1 << shift };
        LagCourse { step_ns, largest_ns: largest_ns.clone() }
    }

    pub(crate) fn stats(&self) -> LagStats {
        self.shared.stats()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_course_of_any_length_has_a_few_steps_and_loses_no_peak() {
        let mut lag = Lag::new();
        assert_eq!(lag.course(), LagCourse::default());
        let second = 1_000_000_000;
        for number in 0..7_200 {
            lag.record(number * second, if number == 5_000 { 77 } else { number % 7 });
        }
        let course = lag.course();
        assert!(course.largest_ns.len() <= STEPS && course.largest_ns.len() > STEPS / 2 - 1, "{course:?}");
        assert!((course.largest_ns.len() as u64 * course.step_ns).abs_diff(7_200 * second) <= course.step_ns);
        let peak = course.largest_ns.iter().position(|largest| *largest == 77).unwrap() as u64;
        assert_eq!(peak, 5_000 * second / course.step_ns);
        // A pause longer than all before it.
        lag.record(u64::MAX >> 1, 5);
        assert_eq!(lag.course().largest_ns.iter().max(), Some(&77));
        assert_eq!(lag.course().largest_ns.last(), Some(&5));
    }

    #[test]
    fn percentiles_are_close_and_the_largest_is_exact() {
        let mut lag = Lag::new();
        assert_eq!(lag.stats(), LagStats::default());
        for i in 0..=1_000 {
            lag.record(i, i * 1_000);
        }
        lag.record(0, Buckets::LONGEST_NS * 3);
        let stats = lag.stats();
        assert_eq!((stats.count, stats.max_ns), (1_002, Buckets::LONGEST_NS * 3));
        assert!(stats.p50_ns.abs_diff(500_000) < 2_000 && stats.p99_ns.abs_diff(991_000) < 2_000, "{stats:?}");
    }
}
