//! The binomial tail behind early stopping.
//!
//! A run with `t` over-latency and `h` under-latency queries passes when `P(Binomial(h + t, 1 - p + d) <= t) < 1 - c`,
//! which is the regularised incomplete beta `I_{p-d}(h, t + 1)`. Runs have up to 10^8 queries, where one query more
//! or less changes that probability by 10^-7 and less. `statrs::function::beta::beta_reg` is a fine reference for
//! small runs (see the tests) but stops after 140 terms of its continued fraction and cancels in its prefactor, so the
//! tail is summed here from an accurate largest term; statrs supplies the exact factorials.

use statrs::function::factorial::ln_factorial;

/// A bound on over-latency queries: percentile, tolerance and confidence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    /// Probability that a query is under latency, less the tolerance.
    under: f64,
    /// One minus `under`.
    over: f64,
    /// Probability of passing by luck that is still accepted.
    risk: f64,
}

/// More queries than any run has, and few enough to be added to others. Percentiles next to 1 would ask for more.
const BEYOND: u64 = 1 << 60;

/// Smallest number of under-latency queries that makes `over` over-latency ones pass.
pub fn min_passing(over: u64, percentile: f64, tolerance: f64, confidence: f64) -> u64 {
    Bound::new(percentile, tolerance, confidence).min_passing(over)
}

impl Bound {
    /// `percentile` and `percentile - tolerance` within (0, 1), `confidence` at least 1/2.
    pub fn new(percentile: f64, tolerance: f64, confidence: f64) -> Self {
        Self { under: percentile - tolerance, over: 1.0 - percentile + tolerance, risk: 1.0 - confidence }
    }

    /// Smallest `h` with which `t` over-latency queries pass; a number beyond all counts when it is larger still.
    pub fn min_passing(self, t: u64) -> u64 {
        // Fails at `low`, where the mean does not exceed t, and passes at `high`.
        let mut low = (t as f64 * self.under / self.over) as u64;
        if low > BEYOND {
            return BEYOND;
        }
        let mut step = 16;
        while !self.passes(low + step + t, t) {
            low += step;
            step *= 2;
        }
        let mut high = low + step;
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if self.passes(middle + t, t) {
                high = middle;
            } else {
                low = middle;
            }
        }
        high
    }

    /// Largest `t` of at least 1 that passes among `queries`; 1 must pass.
    pub fn max_tolerated(self, queries: u64) -> u64 {
        let (mut low, mut high) = (1, queries);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if self.passes(queries, middle) {
                low = middle;
            } else {
                high = middle;
            }
        }
        low
    }

    fn passes(self, n: u64, t: u64) -> bool {
        // At or above the mean the tail is about one half or more.
        (t as f64) < n as f64 * self.over && self.lower_tail(n, t) < self.risk
    }

    /// `P(Binomial(n, over) <= t)` for `t` below the mean: terms fall from the first on.
    fn lower_tail(self, n: u64, t: u64) -> f64 {
        let odds = self.under / self.over;
        let (mut term, mut sum) = (1.0, 1.0);
        for k in (1..=t).rev() {
            term *= k as f64 / (n - k + 1) as f64 * odds;
            sum += term;
            if term < sum * 1e-17 {
                break;
            }
        }
        self.mass(n, t) * sum
    }

    /// `P(Binomial(n, over) = k)`, to nearly full precision for any `n` (Loader's saddle-point form).
    fn mass(self, n: u64, k: u64) -> f64 {
        let (size, hits, misses) = (n as f64, k as f64, (n - k) as f64);
        if k == 0 {
            return (size * self.under.ln()).exp();
        }
        if k == n {
            return (size * self.over.ln()).exp();
        }
        let exponent = stirling_error(n)
            - stirling_error(k)
            - stirling_error(n - k)
            - deviance(hits, size * self.over)
            - deviance(misses, size * self.under);
        exponent.exp() * (size / (std::f64::consts::TAU * hits * misses)).sqrt()
    }
}

/// `ln(n!)` less Stirling's approximation of it.
fn stirling_error(n: u64) -> f64 {
    let x = n as f64;
    if n < 16 {
        return ln_factorial(n) - ((x + 0.5) * x.ln() - x + 0.5 * std::f64::consts::TAU.ln());
    }
    let square = x * x;
    (1.0 / 12.0 - (1.0 / 360.0 - (1.0 / 1260.0 - (1.0 / 1680.0 - 1.0 / 1188.0 / square) / square) / square) / square)
        / x
}

/// `x ln(x / mean) + mean - x` without cancellation.
fn deviance(x: f64, mean: f64) -> f64 {
    let difference = x - mean;
    if difference.abs() >= 0.1 * (x + mean) {
        return x * (x / mean).ln() - difference;
    }
    let ratio = difference / (x + mean);
    let mut sum = difference * ratio;
    let mut term = 2.0 * x * ratio;
    for j in 1..1_000 {
        term *= ratio * ratio;
        let next = sum + term / f64::from(2 * j + 1);
        if next == sum {
            break;
        }
        sum = next;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use statrs::function::beta::beta_reg;

    #[test]
    fn known_values() {
        let h = |t, p| min_passing(t, p, 0.0, 0.99);
        assert_eq!([h(1, 0.9), h(0, 0.99), h(1, 0.99), h(1, 0.999)], [63, 459, 661, 6_635]);
    }

    #[test]
    fn the_tail_agrees_with_the_incomplete_beta() {
        for (n, t, p) in [(64, 1, 0.9), (700, 50, 0.9), (2_000, 5, 0.99), (9_000, 3, 0.999), (300, 20, 0.9)] {
            let tail = Bound::new(p, 0.0, 0.99).lower_tail(n, t);
            let reference = beta_reg((n - t) as f64, t as f64 + 1.0, p);
            assert!((tail / reference - 1.0).abs() < 1e-10, "{n} {t} {p}: {tail} {reference}");
        }
    }

    #[test]
    fn percentiles_next_to_one_ask_for_more_than_there_is() {
        let next_to_one = 1.0 - f64::EPSILON / 2.0;
        assert_eq!(min_passing(300_000, next_to_one, 0.0, 0.99), BEYOND);
        assert!(min_passing(100, next_to_one, 0.0, 0.99) <= BEYOND);
    }

    #[test]
    fn both_searches_agree() {
        for p in [0.5, 0.9, 0.97, 0.99, 0.999] {
            let bound = Bound::new(p, 0.0, 0.99);
            for t in [1, 2, 7, 30, 400] {
                let n = bound.min_passing(t) + t;
                assert_eq!(bound.max_tolerated(n), t, "p {p}");
                assert!(bound.max_tolerated(n - 1) < t || t == 1, "p {p} t {t}");
            }
        }
    }

    #[test]
    fn twenty_million_queries_are_no_work() {
        let bound = Bound::new(0.9, 0.0, 0.99);
        let t = bound.max_tolerated(20_000_000);
        let n = bound.min_passing(t) + t;
        assert!(n <= 20_000_000 && bound.min_passing(t + 1) + t + 1 > 20_000_000, "{t} {n}");
    }
}
