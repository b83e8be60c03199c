//! Round trips, and what they come to.

/// Percentiles of round trips, in ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Percentiles {
    /// The 50th percentile, in ns.
    pub p50_ns: u64,
    /// The 90th percentile, in ns.
    pub p90_ns: u64,
    /// The 99th percentile, in ns.
    pub p99_ns: u64,
}

/// Round trips of requests of one size, answered by eight bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rtt {
    /// Size of the request, in bytes.
    pub bytes: u64,
    /// Number of round trips.
    pub trips: u64,
    /// Percentiles of the round-trip times.
    pub percentiles: Percentiles,
}

impl Rtt {
    /// Of requests of `bytes` bytes; sorts the times.
    pub(crate) fn of(bytes: usize, trips_ns: &mut [u64]) -> Rtt {
        Rtt { bytes: bytes as u64, trips: trips_ns.len() as u64, percentiles: Percentiles::of(trips_ns) }
    }
}

impl Percentiles {
    /// By nearest rank; sorts what it is given.
    pub fn of(trips_ns: &mut [u64]) -> Percentiles {
        trips_ns.sort_unstable();
        let at = |share: f64| {
            let rank = (share * trips_ns.len() as f64).ceil() as usize;
            trips_ns.get(rank.saturating_sub(1)).copied().unwrap_or(0)
        };
        Percentiles { p50_ns: at(0.50), p90_ns: at(0.90), p99_ns: at(0.99) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_by_nearest_rank() {
        let mut trips: Vec<u64> = (1..=200).rev().collect();
        assert_eq!(Percentiles::of(&mut trips), Percentiles { p50_ns: 100, p90_ns: 180, p99_ns: 198 });
        assert_eq!(Percentiles::of(&mut [7]), Percentiles { p50_ns: 7, p90_ns: 7, p99_ns: 7 });
        assert_eq!(Percentiles::of(&mut []), Percentiles::default());
    }
}
