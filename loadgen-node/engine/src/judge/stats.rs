//! Statistics over a set of latencies.

/// The percentiles that every report lists, as fractions.
pub const PERCENTILES: [f64; 6] = [0.50, 0.90, 0.95, 0.97, 0.99, 0.999];

/// Statistics over a set of latencies, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LatencyStats {
    /// Number of latencies.
    pub count: u64,
    /// Number of these latencies that stand for answers or first tokens that never came. They are the largest, above
    /// any limit, and were not measured.
    pub unanswered: u64,
    /// Smallest latency, ns.
    pub min_ns: i64,
    /// Largest latency, ns.
    pub max_ns: i64,
    /// Mean latency, ns, rounded towards zero.
    pub mean_ns: i64,
    /// The latencies at [`PERCENTILES`], ns.
    pub percentiles_ns: [i64; PERCENTILES.len()],
    /// The latency at the target percentile, ns.
    pub target_ns: i64,
}

impl LatencyStats {
    /// Returns true when the latency at a fraction, in 0..=1, was measured: it is that of an answer.
    pub fn is_measured(&self, fraction: f64) -> bool {
        position(self.count, fraction) < self.count.saturating_sub(self.unanswered)
    }

    /// [`Self::target_ns`], where it was measured. The fraction is that of the target percentile.
    pub fn measured_target_ns(&self, fraction: f64) -> Option<i64> {
        self.is_measured(fraction).then_some(self.target_ns)
    }
}

/// Where the latency at a fraction stands among so many that are sorted, as the official rules have it.
pub(super) fn position(count: u64, fraction: f64) -> u64 {
    ((count as f64 * fraction) as u64).min(count.saturating_sub(1))
}
