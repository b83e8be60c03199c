//! Repeats of one measurement: their mean, and where it is with a confidence of 95 %.

use statrs::distribution::{ContinuousCDF as _, StudentsT};

/// Fewest repeats that say something of another number of them.
pub const FEWEST_REPEATS: usize = 3;

/// The share of repeats that lies on either side of an interval.
const TAIL: f64 = 0.025;

/// The mean of repeats.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Where the mean is, lower and upper end, by Student's t. None with fewer than two repeats.
pub(crate) fn interval(values: &[f64]) -> Option<[f64; 2]> {
    let (mean, count) = (mean(values)?, values.len() as f64);
    if values.len() < 2 {
        return None;
    }
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let error = (squares / (count - 1.0) / count).sqrt();
    let width = StudentsT::new(0.0, 1.0, count - 1.0).ok()?.inverse_cdf(1.0 - TAIL) * error;
    Some([mean - width, mean + width])
}

/// The share of the mean that its interval reaches to either side. `None` with fewer than two repeats.
pub fn half_width(values: &[f64]) -> Option<f64> {
    let [low, high] = interval(values)?;
    Some((high - low) / (high + low)).filter(|share| share.is_finite())
}

/// Returns true when the mean is known to this share of itself, to either side. False with fewer than two repeats.
pub(crate) fn is_within(values: &[f64], share: f64) -> bool {
    half_width(values).is_some_and(|width| width <= share)
}

/// Where the relative difference of the means of repeats is, by Welch's t test (Biometrika 34, 1947) on the ratio of
/// the means. None: there are too few, or they are not above 0.
pub fn ratio_interval(first: &[f64], other: &[f64]) -> Option<[f64; 2]> {
    let [first, other] = [Repeats::of(first)?, Repeats::of(other)?];
    // Of the logarithm of each mean, so that the interval is one of their ratio.
    let [own, others] = [first.variance, other.variance];
    let error = (own + others).sqrt();
    let difference = (other.mean / first.mean).ln();
    let width = if error > 0.0 {
        let freedom = (own + others).powi(2) / (own.powi(2) / first.degrees + others.powi(2) / other.degrees);
        StudentsT::new(0.0, 1.0, freedom).ok()?.inverse_cdf(1.0 - TAIL) * error
    } else {
        0.0
    };
    Some([(difference - width).exp() - 1.0, (difference + width).exp() - 1.0])
}

/// Repeats of a quantity.
struct Repeats {
    mean: f64,
    /// Of the logarithm of the mean.
    variance: f64,
    degrees: f64,
}

impl Repeats {
    fn of(values: &[f64]) -> Option<Repeats> {
        if values.len() < FEWEST_REPEATS || values.iter().any(|value| *value <= 0.0) {
            return None;
        }
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let degrees = count - 1.0;
        Some(Repeats { mean, variance: squares / degrees / count / mean.powi(2), degrees })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_that_of_tables() {
        // t of 4 degrees of freedom at 97.5 % is 2.776; the standard error of these is the root of 0.5.
        let [low, high] = interval(&[8.0, 9.0, 10.0, 11.0, 12.0]).unwrap();
        let width = 2.776_445 * 0.5_f64.sqrt();
        assert!((low - (10.0 - width)).abs() < 1e-4 && (high - (10.0 + width)).abs() < 1e-4, "{low} {high}");
        assert_eq!((interval(&[1.0]), mean(&[]), mean(&[1.0, 2.0])), (None, None, Some(1.5)));
        assert_eq!(interval(&[3.0, 3.0]), Some([3.0, 3.0]));
    }

    #[test]
    fn what_scatters_is_not_known() {
        assert!(is_within(&[99.0, 100.0, 101.0], 0.03));
        assert!(!is_within(&[90.0, 100.0, 110.0], 0.03));
        assert!(!is_within(&[100.0], 0.5));
    }

    #[test]
    fn repeats_are_judged_by_welch() {
        // scipy.stats.ttest_ind(log(other), log(first), equal_var=False): nearly the same, for small spreads.
        let [low, high] = ratio_interval(&[10.0, 10.2, 9.8], &[11.0, 11.1, 11.2]).unwrap();
        assert!((low - 0.076).abs() < 0.02 && (high - 0.147).abs() < 0.02, "{low} {high}");
        assert!(low < 0.11 && 0.11 < high);
        assert_eq!(ratio_interval(&[1.0, 1.0], &[1.0, 1.0, 1.0]), None);
        assert_eq!(ratio_interval(&[0.0, 1.0, 1.0], &[1.0, 1.0, 1.0]), None);
        let [low, high] = ratio_interval(&[2.0; 3], &[3.0; 3]).unwrap();
        assert!((low - 0.5).abs() < 1e-12 && (high - 0.5).abs() < 1e-12);
    }
}
