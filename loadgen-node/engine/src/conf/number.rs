//! Numbers as the C library reads them: what the official reader accepts as a value, and what it makes of it.
//!
//! Integers are read up to the first character that does not belong to one (`10.7` is 10), in base 8 after a leading 0
//! and base 16 after `0x`; reals may be hexadecimal, infinite or no number. All of this is deliberate: the same file
//! must give the same settings.

/// Result of `strtoull` with base 0 for a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Whole {
    /// The value, modulo 2^64 when negative, the largest when too large.
    pub(crate) value: u64,
    /// Bytes that belong to it.
    pub(super) len: usize,
    pub(super) base: u32,
    pub(super) negative: bool,
    pub(super) too_large: bool,
}

/// Returns true when the official reader takes this as a value: a number from the first character to the last.
pub(super) fn is_number(text: &str) -> bool {
    // Every text that C reads as a whole number is also a real number.
    real(text).is_some()
}

/// Reads as many characters as make a whole number; none make 0.
pub(crate) fn whole(text: &str) -> Whole {
    let (negative, unsigned) = sign(text);
    let (base, prefix) = match unsigned.as_bytes() {
        [b'0', b'x' | b'X', digit, ..] if digit.is_ascii_hexdigit() => (16, 2),
        [b'0', ..] => (8, 0),
        _ => (10, 0),
    };
    let digits = unsigned[prefix..].chars().map_while(|c| c.to_digit(base));
    let mut number = Whole { value: 0, len: 0, base, negative, too_large: false };
    let mut count = 0;
    for digit in digits {
        count += 1;
        let next = number.value.checked_mul(u64::from(base)).and_then(|value| value.checked_add(u64::from(digit)));
        number.too_large |= next.is_none();
        number.value = next.unwrap_or(u64::MAX);
    }
    if count > 0 {
        number.len = text.len() - unsigned.len() + prefix + count;
    }
    if number.too_large {
        number.value = u64::MAX;
    } else if negative {
        number.value = number.value.wrapping_neg();
    }
    number
}

/// Reads a real number; `None` when `strtod` would leave characters over.
pub(crate) fn real(text: &str) -> Option<f64> {
    let (negative, unsigned) = sign(text);
    let magnitude = if unsigned.starts_with("0x") || unsigned.starts_with("0X") {
        hexadecimal(&unsigned[2..])?
    } else if is_tagged_nan(unsigned) {
        f64::NAN
    } else if unsigned.starts_with(['+', '-']) {
        return None;
    } else {
        unsigned.parse().ok()?
    };
    Some(if negative { -magnitude } else { magnitude })
}

fn sign(text: &str) -> (bool, &str) {
    match text.strip_prefix('-') {
        Some(magnitude) => (true, magnitude),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    }
}

/// `nan(...)` with letters, digits and underscores; the plain `nan` is a number for Rust too.
fn is_tagged_nan(text: &str) -> bool {
    let tag = text.get(..4).filter(|head| head.eq_ignore_ascii_case("nan(")).and_then(|_| text[4..].strip_suffix(')'));
    tag.is_some_and(|tag| tag.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_'))
}

/// The part of a hexadecimal real after `0x`: digits with at most one point, then a binary exponent if any.
fn hexadecimal(text: &str) -> Option<f64> {
    let (digits, exponent) = match text.find(['p', 'P']) {
        Some(at) => (&text[..at], binary_exponent(&text[at + 1..])?),
        None => (text, 0),
    };
    let (mut bits, mut lost, mut scale, mut has_digit, mut point) = (0_u64, false, exponent, false, false);
    for c in digits.chars() {
        if c == '.' && !point {
            point = true;
            continue;
        }
        let digit = c.to_digit(16)?;
        has_digit = true;
        if bits >> 60 == 0 {
            bits = bits << 4 | u64::from(digit);
            scale -= if point { 4 } else { 0 };
        } else {
            lost |= digit != 0;
            scale += if point { 0 } else { 4 };
        }
    }
    has_digit.then(|| scaled(bits, lost, scale))
}

/// An exponent in decimal; beyond what any real has, its size no longer matters.
fn binary_exponent(text: &str) -> Option<i64> {
    let (negative, digits) = sign(text);
    if digits.is_empty() || !digits.bytes().all(|c| c.is_ascii_digit()) {
        return None;
    }
    let magnitude = digits.parse().unwrap_or(i64::MAX).min(1 << 40);
    Some(if negative { -magnitude } else { magnitude })
}

/// `bits * 2^scale`, rounded once, to even; `lost` says that something not zero followed the bits.
fn scaled(bits: u64, lost: bool, scale: i64) -> f64 {
    if bits == 0 {
        return 0.0;
    }
    let zeros = bits.leading_zeros();
    let (bits, scale) = (bits << zeros, scale - i64::from(zeros));
    // Subnormal numbers keep fewer bits than the usual 53.
    let mantissa_bits = 53.min(scale + 63 + 1_075);
    if mantissa_bits < 0 {
        return 0.0;
    }
    let dropped = (64 - mantissa_bits) as u32;
    let wide = u128::from(bits);
    let (mut mantissa, remainder, half) = (wide >> dropped, wide & ((1 << dropped) - 1), 1_u128 << (dropped - 1));
    if remainder > half || (remainder == half && (lost || mantissa & 1 == 1)) {
        mantissa += 1;
    }
    let power = (scale + i64::from(dropped)).min(5_000) as i32;
    // In two steps, neither of which rounds.
    mantissa as f64 * 2_f64.powi(power / 2) * 2_f64.powi(power - power / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_end_where_c_ends_them() {
        for (text, value, len) in [
            ("10.7", 10, 2),
            ("1e3", 1, 1),
            ("0x10", 16, 4),
            ("0xg", 0, 1),
            ("010", 8, 3),
            ("09", 0, 1),
            ("-1", u64::MAX, 2),
            ("+5", 5, 2),
            ("18446744073709551616", u64::MAX, 20),
            ("-18446744073709551616", u64::MAX, 21),
            ("inf", 0, 0),
            ("-.5", 0, 0),
            ("", 0, 0),
        ] {
            let number = whole(text);
            assert_eq!((number.value, number.len), (value, len), "{text}");
        }
    }

    #[test]
    fn reals_are_those_of_c() {
        for (text, value) in [
            ("99.9", 99.9),
            ("5.", 5.0),
            (".5", 0.5),
            ("-1E-2", -0.01),
            ("010", 10.0),
            ("0x10", 16.0),
            ("0x1.8p1", 3.0),
            ("0x.8", 0.5),
            ("-0X1P-1074", -5e-324),
            ("0x1p-1075", 0.0),
            ("0x1.8p-1075", 5e-324),
            ("0x1p99999999999999999999", f64::INFINITY),
            ("0x20000000000001", 9_007_199_254_740_992.0),
            ("0x200000000000010000000000000001", 1.661_534_994_731_145_2e35),
            ("Inf", f64::INFINITY),
            ("-infinity", f64::NEG_INFINITY),
        ] {
            assert_eq!(real(text), Some(value), "{text}");
        }
        assert!(["nan", "-NAN", "nan()", "NaN(x_1)"].iter().all(|text| real(text).is_some_and(f64::is_nan)));
    }

    #[test]
    fn what_is_left_over_makes_it_no_number() {
        for text in
            ["", "+", "--5", "+-5", ".", "1e", "0x", "0x.", "0x1p", "5x", "1_0", "nan(", "nan(-)", "#", "abc", "½"]
        {
            assert!(!is_number(text), "{text}");
        }
    }
}
