//! Numbers of which a log has six significant digits: what they can have been.

use std::ops::RangeInclusive;

/// Significant digits that the official logs have of a real number. Zeros at the end are dropped, so that a text with
/// fewer digits says no more: `200` stands for 199.9995 to 200.0005.
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
    let size = value.abs();
    let power = 10_f64.powi(size.log10().floor() as i32);
    let half = 0.5 * power * 10_f64.powi(1 - DIGITS as i32);
    // Below a power of ten the digits are a tenth as wide.
    let towards_zero = if size == power { half / 10.0 } else { half };
    let (least, most) = (size - towards_zero, size + half);
    Some(if value > 0.0 { least..=most } else { -most..=-least })
}

/// True where a text has all digits that a log has room for, so that its number probably had more.
pub(super) fn is_full(text: &str) -> bool {
    let mantissa = text.split(['e', 'E']).next().unwrap_or(text);
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    digits.trim_start_matches('0').len() >= DIGITS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn six_digits_are_rounded_and_fewer_have_lost_zeros() {
        let can_be = |text: &str, value: f64| printed_as(text).is_some_and(|range| range.contains(&value));
        assert!(can_be("200", 199.999_6) && can_be("200", 200.000_4) && !can_be("200", 200.001));
        assert!(can_be("100", 99.999_96) && !can_be("100", 99.999_9) && can_be("100", 100.000_4));
        assert!(can_be("-2.5", -2.500_004) && !can_be("-2.5", 2.5));
        assert!(can_be("1.5e+06", 1_500_004.0) && !can_be("1.5e+06", 1_500_006.0));
        assert!(can_be("123457", 123_456.789) && !can_be("123457", 123_458.0));
        assert!(can_be("1.23457e-05", 1.234_567e-5) && can_be("0", 0.0) && !can_be("0", 1e-9));
        assert!(is_full("123457") && is_full("0.00123457") && !is_full("1.5e+06") && !is_full("0.00012"));
        assert_eq!((printed_as("inf"), printed_as("x")), (None, None));
    }
}
