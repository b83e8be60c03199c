//! Schedule lag: how long after its due time a sample was handed to the network.
//!
//! It says whether the LoadGen node kept its schedule, or was itself the reason for late answers. It is only measured
//! here; whoever runs the engine judges it.

use hdrhistogram::Histogram;
use serde::Serialize;

/// Significant decimal digits kept.
const DIGITS: u8 = 3;
/// Longer lags count as this long: an hour.
const MAX_NS: u64 = 3_600_000_000_000;

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

/// The lags of a phase, in fixed memory.
#[derive(Debug)]
pub(crate) struct Lag {
    /// `None` only if the library refused the constant bounds above.
    histogram: Option<Histogram<u64>>,
    /// The histogram rounds; the largest lag is kept as it is.
    max_ns: u64,
}

impl Lag {
    pub(crate) fn new() -> Self {
        Self { histogram: Histogram::new_with_bounds(1, MAX_NS, DIGITS).ok(), max_ns: 0 }
    }

    #[inline]
    pub(crate) fn record(&mut self, lag_ns: u64) {
        self.max_ns = self.max_ns.max(lag_ns);
        if let Some(histogram) = &mut self.histogram {
            histogram.saturating_record(lag_ns);
        }
    }

    #[inline]
    pub(crate) fn max_ns(&self) -> u64 {
        self.max_ns
    }

    pub(crate) fn stats(&self) -> LagStats {
        let Some(histogram) = self.histogram.as_ref().filter(|histogram| !histogram.is_empty()) else {
            return LagStats::default();
        };
        LagStats {
            count: histogram.len(),
            p50_ns: histogram.value_at_quantile(0.5).min(self.max_ns),
            p99_ns: histogram.value_at_quantile(0.99).min(self.max_ns),
            max_ns: self.max_ns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_close_and_the_largest_is_exact() {
        let mut lag = Lag::new();
        assert_eq!(lag.stats(), LagStats::default());
        for i in 0..=1_000 {
            lag.record(i * 1_000);
        }
        lag.record(MAX_NS * 3);
        let stats = lag.stats();
        assert_eq!((stats.count, stats.max_ns), (1_002, MAX_NS * 3));
        assert!(stats.p50_ns.abs_diff(500_000) < 2_000 && stats.p99_ns.abs_diff(991_000) < 2_000, "{stats:?}");
    }
}
