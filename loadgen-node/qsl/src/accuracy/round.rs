//! Rounding to five significant digits, half to even, in decimal.

/// The number of significant digits.
const DIGITS: usize = 5;

/// Rounds a number to at most five significant digits. It rounds the shortest decimal that stands for the number:
/// 75.6945 is a tie and becomes 75.694, although its binary form is not exactly between the two.
pub fn to_five_digits(value: f64) -> f64 {
    // This has the form d.ddde±x, with as many digits as needed.
    let text = format!("{value:e}");
    let Some((mantissa, exponent)) = text.split_once('e') else { return value };
    let (sign, mantissa) = mantissa.strip_prefix('-').map_or(("", mantissa), |unsigned| ("-", unsigned));
    let digits: Vec<u8> = mantissa.bytes().filter(u8::is_ascii_digit).collect();
    let (Some((leading, tail)), Ok(exponent)) = (digits.split_at_checked(DIGITS), exponent.parse::<i32>()) else {
        return value;
    };
    let whole = leading.iter().fold(0u32, |whole, digit| 10 * whole + u32::from(digit - b'0'));
    let is_up = match tail.split_first() {
        None => false,
        Some((b'5', zeros)) if zeros.iter().all(|digit| *digit == b'0') => !whole.is_multiple_of(2),
        Some((first, _)) => *first >= b'5',
    };
    let rounded = whole + u32::from(is_up);
    format!("{sign}{rounded}e{}", exponent - (DIGITS as i32 - 1)).parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_go_to_the_even_digit() {
        for (value, rounded) in [
            (75.6954, 75.695),
            (75.6945, 75.694),
            (75.6955, 75.696),
            (75.69450001, 75.695),
            (89.96526, 89.965),
            (99.999_5, 100.0),
            (99.998_5, 99.998),
            (0.000_123_455, 0.000_123_46),
            (0.000_123_445, 0.000_123_44),
            (97.0, 97.0),
            (100.0, 100.0),
            (0.0, 0.0),
            (-1.234_565, -1.234_6),
            (123_456.5, 123_460.0),
        ] {
            assert_eq!(to_five_digits(value), rounded, "{value}");
        }
        assert!(to_five_digits(f64::NAN).is_nan());
        assert_eq!(to_five_digits(f64::INFINITY), f64::INFINITY);
    }
}
