//! What answers must be worth by the official rules, in the reference's own metrics, whether or not they are scored here.

use std::fmt;

use serde::Deserialize;

/// One metric of a benchmark and what the reference model reaches in it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quality {
    /// As the official submission checker calls it.
    pub metric: String,
    /// Of the reference model.
    pub reference: f64,
    /// Shares of it that must be reached, one for each official variant of the benchmark (99 %, 99.9 %).
    pub shares: Vec<f64>,
    /// Where both are written.
    pub source: String,
}

impl Quality {
    pub(super) fn checked(self) -> Result<Quality, String> {
        let are_shares = !self.shares.is_empty() && self.shares.iter().all(|share| *share > 0.0 && *share <= 1.0);
        match self.reference.is_finite() && are_shares && !self.source.is_empty() {
            true => Ok(self),
            false => {
                Err(format!("quality {}: a reference, shares of it up to 1, and a source are wanted", self.metric))
            }
        }
    }
}

/// `F1 at least 89.965 (90.783)`: of the first variant, and of the others.
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

/// Five significant digits, as targets are compared.
fn five_digits(value: f64) -> String {
    let before = if value.abs() < 1.0 { 0 } else { value.abs().log10().floor() as usize + 1 };
    format!("{value:.*}", 5_usize.saturating_sub(before))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quality(reference: f64, shares: &[f64]) -> Quality {
        Quality { metric: "F1".to_owned(), reference, shares: shares.to_vec(), source: "there".to_owned() }
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
