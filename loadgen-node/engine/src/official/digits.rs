//! Numbers of which a log has six significant digits: what they can have been.

use std::ops::RangeInclusive;

/// Significant digits that the official logs have of a real number.
const DIGITS: usize = 6;

/// The numbers that are printed as this text.
pub(super) fn printed_as(text: &str) -> Option<RangeInclusive<f64>> {
    let value: f64 = text.parse().ok()?;
    if !value.is_finite() {
        return None;
    }
    if value == 0.0 {
        return Some(value..=value);
    }
    let half = 0.5 * 10_f64.powi(value.abs().log10().floor() as i32 + 1 - DIGITS as i32);
    Some(value - half..=value + half)
}

/// The numbers that somebody can have asked for who is answered with this text. A number with fewer digits than the log
/// has room for is taken as it is.
pub(super) fn asked_as(text: &str) -> Option<RangeInclusive<f64>> {
    let range = printed_as(text)?;
    let mantissa = text.split(['e', 'E']).next().unwrap_or(text);
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    if digits.trim_start_matches('0').len() >= DIGITS {
        return Some(range);
    }
    let value: f64 = text.parse().ok()?;
    Some(value..=value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn six_digits_may_be_rounded_and_fewer_are_not() {
        assert_eq!(asked_as("100"), Some(100.0..=100.0));
        assert_eq!(asked_as("1.5e+06"), Some(1.5e6..=1.5e6));
        assert_eq!(asked_as("0.00012"), Some(0.00012..=0.00012));
        let asked = asked_as("123457").unwrap();
        assert!(asked.contains(&123_456.789) && !asked.contains(&123_458.0), "{asked:?}");
        assert!(asked_as("1.23457e-05").unwrap().contains(&1.234_567e-5));
        assert!(printed_as("100").unwrap().contains(&99.999_99));
        assert_eq!((printed_as("inf"), asked_as("x")), (None, None));
    }
}
