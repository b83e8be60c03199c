//! History of each run for charts, one point a second.

use std::collections::{BTreeMap, VecDeque};

use super::super::viewer::RunView;
use lon_run::live::snapshot::Snapshot;

/// Points that are kept: a day of them.
const MOST: usize = 24 * 3_600;

/// The history of each run, by the name of its tenant.
#[derive(Debug, Default)]
pub(super) struct Histories(BTreeMap<Option<String>, History>);

impl Histories {
    /// Takes what is seen of each run now. A run that is over has no more points.
    pub(super) fn see(&mut self, runs: &[RunView]) {
        for run in runs.iter().filter(|run| run.goes_on()) {
            self.0.entry(run.tenant.clone()).or_default().see(&run.newest.snapshot);
        }
    }

    /// The history of a run, once it has been seen.
    pub(super) fn of(&self, run: &RunView) -> Option<&History> {
        self.0.get(&run.tenant)
    }
}

/// The points, in order.
#[derive(Clone, Debug, Default)]
pub(super) struct History {
    points: VecDeque<Point>,
    /// The second of the last one.
    second: Option<u64>,
}

/// Measurements of one second.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Point {
    /// Samples that ended, a second.
    pub(super) rate_per_s: f64,
    /// The 99th percentile of their latencies, ns.
    pub(super) p99_ns: u64,
    /// The largest schedule lag, ns.
    pub(super) lag_ns: u64,
}

impl History {
    /// Takes what is seen now.
    pub(super) fn see(&mut self, snapshot: &Snapshot) {
        let point = Point {
            rate_per_s: snapshot.rate_per_s,
            p99_ns: snapshot.latency.recent.map_or(0, |recent| recent.p99_ns),
            lag_ns: snapshot.recent_lag_ns,
        };
        let second = snapshot.elapsed.as_secs();
        match self.points.back_mut().filter(|_| self.second == Some(second)) {
            Some(last) => *last = Point { lag_ns: last.lag_ns.max(point.lag_ns), ..point },
            None => self.points.push_back(point),
        }
        self.second = Some(second);
        if self.points.len() > MOST {
            self.points.pop_front();
        }
    }

    /// The last seconds as so many columns at most, each with the largest value of its stretch; the newest is last.
    pub(super) fn columns(&self, seconds: usize, columns: usize, value: fn(&Point) -> u64) -> Vec<u64> {
        let count = self.points.len().min(seconds);
        let points = self.points.iter().skip(self.points.len() - count).map(value).collect::<Vec<u64>>();
        let width = count.div_ceil(columns.max(1)).max(1);
        // Stretches are counted from the end, so that all but the oldest are whole.
        let newest_first = points.rchunks(width).map(|stretch| stretch.iter().copied().max().unwrap_or(0));
        let mut values: Vec<u64> = newest_first.collect();
        values.reverse();
        values
    }
}

#[cfg(test)]
impl<const N: usize> From<[(Option<String>, History); N]> for Histories {
    fn from(histories: [(Option<String>, History); N]) -> Histories {
        Histories(BTreeMap::from(histories))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_second_is_a_point_and_many_become_a_column() {
        let mut history = History::default();
        for (ms, lag) in [(0, 1), (400, 9), (900, 2), (1_000, 3), (2_500, 4)] {
            history.see(&Snapshot {
                elapsed: Duration::from_millis(ms),
                rate_per_s: ms as f64,
                recent_lag_ns: lag,
                ..Snapshot::default()
            });
        }
        let rate = |point: &Point| point.rate_per_s as u64;
        assert_eq!(history.columns(60, 10, |point| point.lag_ns), [9, 3, 4]);
        assert_eq!(
            (history.columns(60, 10, rate), history.columns(60, 2, rate)),
            (vec![900, 1_000, 2_500], vec![900, 2_500])
        );
        assert_eq!(
            (history.columns(2, 10, rate), history.columns(usize::MAX, 1, rate)),
            (vec![1_000, 2_500], vec![2_500])
        );
        assert_eq!(History::default().columns(60, 10, rate), [0; 0]);
    }
}
