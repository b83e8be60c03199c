//! The largest rate that holds: outwards by growing factors until one holds and one fails, then halving between them.

/// Stops when the smallest failed rate is at most this much above the largest that held.
const FINE_ENOUGH: f64 = 1.05;
/// Steps outwards grow to this factor.
const LARGEST_STEP: f64 = 2.0;
/// Rates that nothing here can be so slow or so fast as to need.
const SLOWEST: f64 = 100.0;
const FASTEST: f64 = 50e6;

/// A search for the largest rate; each trial is recorded in it.
#[derive(Debug)]
pub(crate) struct Search {
    start: f64,
    step: f64,
    low: Option<f64>,
    high: Option<f64>,
}

impl Search {
    /// Begins at `start`; the first step outwards is a factor of `step`.
    pub(crate) fn new(start: f64, step: f64) -> Search {
        Search { start, step, low: None, high: None }
    }

    /// The rate to try next; `None` at the end.
    pub(crate) fn next(&self) -> Option<f64> {
        let rate = match (self.low, self.high) {
            (None, None) => self.start,
            (Some(low), None) => low * self.step,
            (None, Some(high)) => high / self.step,
            (Some(low), Some(high)) if high <= low * FINE_ENOUGH => return None,
            (Some(low), Some(high)) => (low * high).sqrt(),
        };
        (SLOWEST..=FASTEST).contains(&rate).then_some(rate)
    }

    /// Records whether a trial at `rate` held.
    pub(crate) fn record(&mut self, rate: f64, holds: bool) {
        if self.low.or(self.high).is_some() {
            self.step = (self.step * self.step).min(LARGEST_STEP);
        }
        *(if holds { &mut self.low } else { &mut self.high }) = Some(rate);
    }

    /// The largest that held.
    pub(crate) fn best(&self) -> Option<f64> {
        self.low
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(start: f64, step: f64, limit: f64) -> (Option<f64>, u32) {
        let (mut search, mut trials) = (Search::new(start, step), 0);
        while let Some(rate) = search.next() {
            search.record(rate, rate <= limit);
            trials += 1;
            assert!(trials < 100);
        }
        (search.best(), trials)
    }

    #[test]
    fn finds_the_limit_from_either_side() {
        for (start, step) in [(50e3, 2.0), (2e6, 2.0), (700e3, 1.15), (800e3, 1.15), (731e3, 1.15), (30e3, 1.15)] {
            let (best, trials) = outcome(start, step, 731e3);
            let best = best.unwrap();
            assert!((731e3 / FINE_ENOUGH..=731e3).contains(&best), "{start} {step}: {best}");
            assert!(trials <= 12, "{start} {step}: {trials} trials");
        }
    }

    #[test]
    fn ends_when_nothing_or_everything_holds() {
        assert_eq!(outcome(50e3, 2.0, 0.0).0, None);
        assert!(outcome(50e3, 2.0, f64::INFINITY).0.unwrap() > FASTEST / 2.0);
    }
}
