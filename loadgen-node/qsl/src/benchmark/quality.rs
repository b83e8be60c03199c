//! The scores that the official rules require of the answers, in the metrics of the reference implementation. Not all
//! of them can be computed here.

use std::fmt;

use serde::Deserialize;

/// One metric of a benchmark, and the score that the reference model reaches in it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quality {
    /// The name of the metric in the official submission checker.
    pub metric: String,
    /// The score of the reference model.
    pub reference: f64,
    /// The shares of that score that must be reached, one for each official variant of the benchmark: 0.99 is 99 %.
    pub shares: Vec<f64>,
    /// The share of that score that may not be passed, where there is one: 1.1 is 110 %.
    pub most_share: Option<f64>,
    /// The source of these numbers.
    pub source: String,
}

impl Quality {
    /// Checks that all numbers make sense and have a source.
    pub(super) fn checked(self) -> Result<Quality, String> {
        let are_shares = !self.shares.is_empty() && self.shares.iter().all(|share| *share > 0.0 && *share <= 1.0);
        let is_above = self.most_share.is_none_or(|share| share >= 1.0);
        match self.reference.is_finite() && are_shares && is_above && !self.source.is_empty() {
            true => Ok(self),
            false => {
                Err(format!("quality {}: a reference, shares of it up to 1, and a source are wanted", self.metric))
            }
        }
    }

    /// The least score of all variants.
    pub fn least(&self) -> Option<f64> {
        self.shares.iter().copied().reduce(f64::min).map(|share| share * self.reference)
    }

    /// The largest score, where there is one.
    pub fn most(&self) -> Option<f64> {
        self.most_share.map(|share| share * self.reference)
    }
}

/// Shows the required scores as `F1 at least 89.965 (90.783)`: of the first variant, and of the others in parentheses.
impl fmt::Display for Quality {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let targets: Vec<String> = self.shares.iter().map(|share| five_digits(self.reference * share)).collect();
        match targets.split_first() {
            Some((first, [])) => write!(f, "{} at least {first}", self.metric),
            Some((first, others)) => write!(f, "{} at least {first} ({})", self.metric, others.join(", ")),
            None => f.write_str(&self.metric),
        }
    }
}

/// Shows a number with five significant digits, with which targets are compared.
fn five_digits(value: f64) -> String {
    let before = if value.abs() < 1.0 { 0 } else { value.abs().log10().floor() as usize + 1 };
    format!("{value:.*}", 5_usize.saturating_sub(before))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quality(reference: f64, shares: &[f64]) -> Quality {
        Quality {
            metric: "F1".to_owned(),
            reference,
            shares: shares.to_vec(),
            most_share: None,
            source: "there".to_owned(),
        }
    }

    #[test]
    fn targets_have_five_digits() {
        assert_eq!(quality(90.874, &[0.99, 0.999]).to_string(), "F1 at least 89.965 (90.783)");
        assert_eq!(quality(0.8617, &[0.99]).to_string(), "F1 at least 0.85308");
        assert_eq!(quality(4_016_878.0, &[0.9]).to_string(), "F1 at least 3615190");
    }

    #[test]
    fn odd_shares_are_refused() {
        assert!(quality(1.0, &[0.99]).checked().is_ok());
        for odd in [quality(1.0, &[]), quality(1.0, &[1.1]), quality(1.0, &[0.0]), quality(f64::NAN, &[1.0])] {
            assert!(odd.checked().unwrap_err().contains("F1"));
        }
    }
}
