//! Facts about whole bursts: their times, the backlog that they meet, and recovery from it.

use super::latencies::Latencies;
use super::stats::LatencyStats;

/// Times of bursts, measured from their due times.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BurstTimes {
    /// Queries in a burst.
    pub size: u64,
    /// Due time of each burst, ns from the start of the phase.
    pub starts_ns: Vec<u64>,
    /// Time from the due time to the first answer, ns.
    pub first_ns: Latencies,
    /// Time from the due time to the last answer, ns.
    pub completion_ns: Latencies,
    /// Samples of earlier bursts without an answer at each due time.
    pub backlogs: Vec<u64>,
}

/// Bursts of a judged phase.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BurstSummary {
    /// Queries in a burst.
    pub size: u64,
    /// Number of bursts.
    pub bursts: u64,
    /// Time from the due time to the first answer.
    pub first: LatencyStats,
    /// Time from the due time to the last answer.
    pub completion: LatencyStats,
    /// Mean number of samples that were unanswered when a burst was due.
    pub backlog_mean: f64,
    /// Largest such number.
    pub backlog_max: u64,
    /// Number of bursts that met a backlog.
    pub starts_with_backlog: u64,
    /// Rate at which samples were due, per second; none for fewer than two bursts.
    pub offered_per_s: Option<f64>,
    /// Queries of a burst over its mean completion time, per second: the rate at which a burst is worked off.
    pub drained_per_s: Option<f64>,
    /// Longest time from a start with a backlog to the next one without, ns; none without a backlog, and none where the
    /// last start still met one.
    pub recovery_ns: Option<u64>,
}

impl BurstTimes {
    /// The summary; `stats` makes statistics of latencies that are sorted.
    pub(super) fn summary(&self, stats: impl Fn(&Latencies) -> LatencyStats) -> BurstSummary {
        let bursts = self.starts_ns.len() as u64;
        let completion = stats(&self.completion_ns);
        let span_ns = self.starts_ns.last().copied().unwrap_or(0) - self.starts_ns.first().copied().unwrap_or(0);
        let sum: u64 = self.backlogs.iter().sum();
        BurstSummary {
            size: self.size,
            bursts,
            first: stats(&self.first_ns),
            backlog_mean: sum as f64 / bursts.max(1) as f64,
            backlog_max: self.backlogs.iter().copied().max().unwrap_or(0),
            starts_with_backlog: self.backlogs.iter().filter(|backlog| **backlog > 0).count() as u64,
            offered_per_s: (span_ns > 0).then(|| ((bursts - 1) * self.size) as f64 * 1e9 / span_ns as f64),
            drained_per_s: (completion.mean_ns > 0).then(|| self.size as f64 * 1e9 / completion.mean_ns as f64),
            recovery_ns: self.recovery_ns(),
            completion,
        }
    }

    fn recovery_ns(&self) -> Option<u64> {
        let (mut longest_ns, mut since_ns) = (None, None);
        for (start_ns, backlog) in self.starts_ns.iter().zip(&self.backlogs) {
            match (backlog, since_ns) {
                (0, Some(from_ns)) => {
                    longest_ns = longest_ns.max(Some(start_ns - from_ns));
                    since_ns = None;
                }
                (0, None) | (_, Some(_)) => {}
                (_, None) => since_ns = Some(*start_ns),
            }
        }
        longest_ns.filter(|_| since_ns.is_none())
    }

    pub(super) fn sort(&mut self) {
        self.first_ns.sort();
        self.completion_ns.sort();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(backlogs: &[u64]) -> BurstTimes {
        BurstTimes {
            size: 4,
            starts_ns: (0..backlogs.len() as u64).map(|burst| burst * 100).collect(),
            first_ns: vec![10; backlogs.len()].into(),
            completion_ns: vec![80; backlogs.len()].into(),
            backlogs: backlogs.to_vec(),
        }
    }

    fn summary(backlogs: &[u64]) -> BurstSummary {
        times(backlogs).summary(|_| LatencyStats { mean_ns: 80, ..LatencyStats::default() })
    }

    #[test]
    fn recovery_is_the_longest_time_with_a_backlog() {
        assert_eq!(summary(&[0, 0, 0]).recovery_ns, None);
        assert_eq!(summary(&[0, 2, 0, 3, 1, 0]).recovery_ns, Some(200));
        assert_eq!(summary(&[0, 2, 0, 3, 1]).recovery_ns, None, "the end was not reached");
    }

    #[test]
    fn rates_follow_from_starts_and_completion() {
        let summary = summary(&[0, 2, 1, 0]);
        assert_eq!((summary.bursts, summary.backlog_max, summary.starts_with_backlog), (4, 2, 2));
        assert_eq!((summary.offered_per_s, summary.drained_per_s), (Some(4e7), Some(5e7)));
        assert!((summary.backlog_mean - 0.75).abs() < 1e-12);
        let one = times(&[0]).summary(|_| LatencyStats::default());
        assert_eq!((one.offered_per_s, one.drained_per_s), (None, None));
    }
}
