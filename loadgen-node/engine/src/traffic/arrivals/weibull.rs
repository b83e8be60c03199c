//! Shape and coefficient of variation of Weibull distributions.

use statrs::function::gamma::gamma;

/// The coefficient of variation of a Weibull distribution.
pub(super) fn weibull_cv(shape: f64) -> f64 {
    let mean = gamma(1.0 + 1.0 / shape);
    (gamma(1.0 + 2.0 / shape) / (mean * mean) - 1.0).max(0.0).sqrt()
}

/// The shape of the Weibull distribution with this coefficient of variation.
pub(super) fn weibull_shape(cv: f64) -> f64 {
    // The CV falls as the shape grows: 0.1 has 429, 100 has 0.013.
    let (mut low, mut high) = (0.1_f64, 100.0_f64);
    for _ in 0..200 {
        let middle = (low * high).sqrt();
        if weibull_cv(middle) > cv { low = middle } else { high = middle }
    }
    (low * high).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shape_of_a_weibull_distribution_follows_from_its_variation() {
        for cv in [0.05, 0.5, 1.0, 2.0, 10.0] {
            assert!((weibull_cv(weibull_shape(cv)) / cv - 1.0).abs() < 1e-9, "{cv}");
        }
        assert!((weibull_shape(1.0) - 1.0).abs() < 1e-9, "exponential");
    }
}
