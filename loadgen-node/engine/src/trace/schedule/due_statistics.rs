//! Mean rate and variation of due times that were drawn.
//!
//! The variation of the gaps is their standard deviation over their mean. The index of dispersion is the variance of
//! the queries in windows of a second over their mean: 1 in a Poisson process, 0 in a constant one. The peak of a
//! window length is the fullest window over the mean one. Windows that the last query cuts off are left out.

use serde::{Deserialize, Serialize};

/// Window lengths of [`Drawn`], ns.
const WINDOWS_NS: [u64; 3] = [100_000_000, 1_000_000_000, 10_000_000_000];
/// The window of the index of dispersion among them.
const SECOND: usize = 1;

/// Mean rate and variation of the due times of a phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Drawn {
    /// Number of queries.
    pub queries: u64,
    /// Mean rate from the first due time to the one after the last, queries per second; none for fewer than two due
    /// times.
    pub rate_per_s: Option<f64>,
    /// Coefficient of variation of the gaps.
    pub gap_cv: Option<f64>,
    /// Index of dispersion of the queries in each second.
    pub dispersion: Option<f64>,
    /// Fullest window of 100 ms over the mean one.
    pub peak_100ms: Option<f64>,
    /// Fullest second over the mean one.
    pub peak_1s: Option<f64>,
    /// Fullest window of 10 s over the mean one.
    pub peak_10s: Option<f64>,
}

/// Takes due times in order, in fixed memory.
#[derive(Debug, Default)]
pub(in crate::trace) struct Meter {
    queries: u64,
    first_ns: u64,
    last_ns: u64,
    /// Sum of the squared gaps, ns².
    squares: f64,
    windows: [Window; WINDOWS_NS.len()],
}

/// Counts in windows of one length.
#[derive(Clone, Copy, Debug, Default)]
struct Window {
    ends_ns: u64,
    /// Queries in the present window.
    count: u64,
    /// Whole windows before it.
    whole: u64,
    sum: u64,
    squares: f64,
    most: u64,
}

impl Meter {
    #[inline]
    pub(in crate::trace) fn add(&mut self, due_ns: u64) {
        if self.queries == 0 {
            self.first_ns = due_ns;
            self.last_ns = due_ns;
            for (window, length_ns) in self.windows.iter_mut().zip(WINDOWS_NS) {
                window.ends_ns = due_ns.saturating_add(length_ns);
            }
        }
        let gap_ns = (due_ns - self.last_ns) as f64;
        self.squares += gap_ns * gap_ns;
        self.last_ns = due_ns;
        self.queries += 1;
        for (window, length_ns) in self.windows.iter_mut().zip(WINDOWS_NS) {
            if due_ns >= window.ends_ns {
                window.close_until(due_ns, length_ns);
            }
            window.count += 1;
        }
    }

    /// `end_ns`: the due time that the query after the last one would have.
    pub(in crate::trace) fn statistics(&self, end_ns: u64) -> Drawn {
        let gaps = self.queries.saturating_sub(1) as f64;
        let span_ns = (self.last_ns - self.first_ns) as f64;
        let has_span = span_ns > 0.0;
        let mean_ns = span_ns / gaps;
        let gap_cv = || (self.squares / gaps / (mean_ns * mean_ns) - 1.0).max(0.0).sqrt();
        let [peak_100ms, peak_1s, peak_10s] = self.windows.map(|window| window.peak());
        Drawn {
            queries: self.queries,
            rate_per_s: has_span.then(|| self.queries as f64 * 1e9 / (end_ns - self.first_ns) as f64),
            gap_cv: has_span.then(gap_cv),
            dispersion: self.windows[SECOND].dispersion(),
            peak_100ms,
            peak_1s,
            peak_10s,
        }
    }
}

impl Window {
    /// Ends the present window, and those without a query until the one that a time is in.
    fn close_until(&mut self, due_ns: u64, length_ns: u64) {
        let passed = (due_ns - self.ends_ns) / length_ns + 1;
        self.whole += passed;
        self.sum += self.count;
        self.squares += (self.count as f64) * (self.count as f64);
        self.most = self.most.max(self.count);
        self.count = 0;
        self.ends_ns = self.ends_ns.saturating_add(passed.saturating_mul(length_ns));
    }

    fn mean(&self) -> f64 {
        self.sum as f64 / self.whole as f64
    }

    fn peak(&self) -> Option<f64> {
        (self.sum > 0).then(|| self.most as f64 / self.mean())
    }

    fn dispersion(&self) -> Option<f64> {
        let variance = self.squares / self.whole as f64 - self.mean() * self.mean();
        (self.whole >= 2 && self.sum > 0).then(|| variance.max(0.0) / self.mean())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statistics_of(due_ns: impl IntoIterator<Item = u64>) -> Drawn {
        let mut meter = Meter::default();
        let mut due_ns: Vec<u64> = due_ns.into_iter().collect();
        let end_ns = due_ns.pop().unwrap_or(0);
        due_ns.into_iter().for_each(|due_ns| meter.add(due_ns));
        meter.statistics(end_ns)
    }

    const MS: u64 = 1_000_000;

    #[test]
    fn equal_gaps_do_not_vary() {
        let equal = statistics_of((0..=4_001).map(|number| number * 10 * MS));
        assert_eq!((equal.rate_per_s, equal.gap_cv, equal.dispersion), (Some(100.0), Some(0.0), Some(0.0)));
        assert_eq!((equal.peak_100ms, equal.peak_1s, equal.peak_10s), (Some(1.0), Some(1.0), Some(1.0)));
    }

    #[test]
    fn bursts_have_the_variation_that_follows_from_their_size() {
        // Four at once every two seconds: gaps 0, 0, 0, 2 s.
        let bursts = statistics_of((0..=400_u64).map(|number| number / 4 * 2_000 * MS));
        assert_eq!((bursts.queries, bursts.rate_per_s), (400, Some(2.0)));
        // 99 whole pairs of seconds: 4 and 0 queries.
        assert!((bursts.dispersion.unwrap() - 2.0).abs() < 1e-9, "{bursts:?}");
        assert!((bursts.peak_1s.unwrap() - 2.0).abs() < 1e-9 && (bursts.peak_10s.unwrap() - 1.0).abs() < 1e-9);
        assert!((bursts.peak_100ms.unwrap() - 20.0).abs() < 1e-9);
        assert!((bursts.gap_cv.unwrap() - 3.0_f64.sqrt()).abs() < 0.01, "{bursts:?}");
    }

    #[test]
    fn too_few_due_times_have_no_rate() {
        assert_eq!(statistics_of([]), Drawn::default());
        assert_eq!(statistics_of([5, 9]), Drawn { queries: 1, ..Drawn::default() });
        assert_eq!(statistics_of([5, 5, 9]).rate_per_s, None);
        assert_eq!(statistics_of([5, 5 + 500 * MS, 5 + 1_000 * MS]).rate_per_s, Some(2.0));
    }
}
