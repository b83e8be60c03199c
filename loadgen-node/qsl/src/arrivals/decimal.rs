//! Decimal digits as whole nanoseconds. Integers all the way: a time of seven digits keeps all of them.

/// Digits of a number at most; leading zeros do not count.
const MOST_DIGITS: u32 = 25;

/// Exponents of a number lie between this and its negative.
const MOST_EXPONENT: i32 = 99;

/// A decimal number: its digits, and the power of ten that they are multiplied by.
struct Decimal {
    digits: u128,
    power: i32,
}

/// Nanoseconds in a text that counts units of `unit_ns`. Digits below a nanosecond are rounded, halves up.
///
/// # Errors
/// The text is no decimal number, is negative, or is more than 64 bits can count.
pub(super) fn ns(text: &str, unit_ns: u64) -> Result<u64, String> {
    let Decimal { digits, power } = decimal(text)?;
    let value = match 10_u64.checked_pow(power.unsigned_abs()) {
        // Most digits are no smaller than a nanosecond: a product, and no quotient.
        Some(divisor) if power <= 0 && unit_ns.is_multiple_of(divisor) => {
            digits.checked_mul(u128::from(unit_ns / divisor))
        }
        _ => scaled(digits * u128::from(unit_ns), power),
    };
    let value = value.and_then(|value| u64::try_from(value).ok());
    value.ok_or_else(|| format!("'{}' is more than 584 years", start_of(text)))
}

/// A value times a power of ten, rounded to a whole number, halves up.
fn scaled(value: u128, power: i32) -> Option<u128> {
    match (10_u128.checked_pow(power.unsigned_abs()), power) {
        _ if value == 0 => Some(0),
        (Some(factor), 0..) => value.checked_mul(factor),
        (None, 0..) => None,
        (Some(divisor), _) => Some(value / divisor + u128::from(value % divisor >= divisor.div_ceil(2))),
        (None, _) => Some(0),
    }
}

/// A whole number of nanoseconds.
///
/// # Errors
/// The text is no whole number, is negative, or is more than 64 bits can count.
pub(super) fn whole_ns(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(ns) if is_digits(text) => Ok(ns),
        _ => match decimal(text) {
            Err(reason) => Err(reason),
            Ok(_) if is_digits(text) => Err(format!("'{}' is more than 584 years", start_of(text))),
            Ok(_) => Err(format!("'{}' is no whole number of nanoseconds", start_of(text))),
        },
    }
}

/// A count of tokens, or an index: a whole number, to which some programs add `.0`.
///
/// # Errors
/// The text is no whole number of 32 bits.
pub(super) fn count(text: &str) -> Result<u32, String> {
    let bytes = text.as_bytes();
    let digits = bytes.strip_suffix(b".0").unwrap_or(bytes);
    let add = |count: Option<u32>, byte: &u8| match byte {
        b'0'..=b'9' => count?.checked_mul(10)?.checked_add(u32::from(byte - b'0')),
        _ => None,
    };
    let count = if digits.is_empty() { None } else { digits.iter().fold(Some(0), add) };
    count.ok_or_else(|| format!("'{}' is no whole number of 32 bits", start_of(text)))
}

/// Tells whether a text is a decimal number.
pub(super) fn is_number(text: &str) -> bool {
    decimal(text).is_ok()
}

/// Tells whether a text is digits alone.
pub(super) fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Digits, a point with more of them, and an exponent: `12`, `0.5`, `.5`, `5e-05`.
fn decimal(text: &str) -> Result<Decimal, String> {
    if let Some(unsigned) = text.strip_prefix('-') {
        return Err(decimal(unsigned).map_or_else(|_| no_number(text), |_| format!("'{}' is negative", start_of(text))));
    }
    let (mut digits, mut count, mut power, mut places) = (0_u128, 0, 0, None);
    let mut has_digits = false;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'0'..=b'9' => {
                digits = digits * 10 + u128::from(byte - b'0');
                count += u32::from(digits > 0);
                places = places.map(|places: i32| places + 1);
                has_digits = true;
            }
            b'.' if places.is_none() => places = Some(0),
            b'e' | b'E' if has_digits => {
                power = exponent(&text[at + 1..]).ok_or_else(|| no_number(text))?;
                break;
            }
            _ => return Err(no_number(text)),
        }
        if count > MOST_DIGITS || places.is_some_and(|places| places > MOST_EXPONENT) {
            return Err(format!("'{}' has more than {MOST_DIGITS} digits", start_of(text)));
        }
    }
    match has_digits {
        true => Ok(Decimal { digits, power: power - places.unwrap_or(0) }),
        false => Err(no_number(text)),
    }
}

fn no_number(text: &str) -> String {
    format!("'{}' is no number", start_of(text))
}

fn exponent(text: &str) -> Option<i32> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let value = digits.parse::<i32>().ok().filter(|value| is_digits(digits) && *value <= MOST_EXPONENT)?;
    Some(if text.starts_with('-') { -value } else { value })
}

/// The first letters of a text, which errors show.
pub(super) fn start_of(text: &str) -> String {
    let visible = |letter: char| match letter.is_control() {
        true => letter.escape_default().to_string(),
        false => letter.to_string(),
    };
    let start: String = text.chars().take(60).map(visible).collect();
    if text.chars().nth(60).is_some() { start + "..." } else { start }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;
    const MS: u64 = 1_000_000;

    #[test]
    fn digits_become_nanoseconds_without_loss() {
        for (text, unit_ns, expected) in [
            ("27482", MS, 27_482_000_000),
            ("46.6805900", S, 46_680_590_000),
            ("1700000000.123456789", S, 1_700_000_000_123_456_789),
            ("61.114", S, 61_114_000_000),
            ("0.1", S, 100_000_000),
            (".5", MS, 500_000),
            ("5.", S, 5_000_000_000),
            ("5e-05", S, 50_000),
            ("5.000000000000000240e-05", S, 50_000),
            ("1.5E+3", MS, 1_500_000_000),
            ("000000000000000000000000000007", 1, 7),
            ("0e99", S, 0),
            ("0.4", 1, 0),
            ("0.5", 1, 1),
            ("1e-99", S, 0),
            ("18446744073709551615", 1, u64::MAX),
        ] {
            assert_eq!(ns(text, unit_ns), Ok(expected), "{text}");
        }
    }

    #[test]
    fn numbers_that_are_none_are_named() {
        for (text, reason) in [
            ("", "'' is no number"),
            ("NaN", "'NaN' is no number"),
            ("inf", "'inf' is no number"),
            ("1,5", "'1,5' is no number"),
            ("1.2.3", "'1.2.3' is no number"),
            ("+1", "'+1' is no number"),
            ("1e", "'1e' is no number"),
            ("1e+-3", "'1e+-3' is no number"),
            ("1e100", "'1e100' is no number"),
            (".", "'.' is no number"),
            ("0x10", "'0x10' is no number"),
            ("-1", "'-1' is negative"),
            ("-0.5e3", "'-0.5e3' is negative"),
            ("--1", "'--1' is no number"),
            ("-nan", "'-nan' is no number"),
            ("e5", "'e5' is no number"),
            ("1e5e5", "'1e5e5' is no number"),
            ("18446744074", "'18446744074' is more than 584 years"),
            ("1e90", "'1e90' is more than 584 years"),
            ("12345678901234567890123456", "'12345678901234567890123456' has more than 25 digits"),
        ] {
            assert_eq!(ns(text, S), Err(reason.to_owned()), "{text}");
        }
    }

    #[test]
    fn whole_numbers_are_whole() {
        assert_eq!(whole_ns("18446744073709551615"), Ok(u64::MAX));
        for (text, reason) in [
            ("1.5", "'1.5' is no whole number of nanoseconds"),
            ("18446744073709551616", "'18446744073709551616' is more than 584 years"),
            ("-1", "'-1' is negative"),
            ("+1", "'+1' is no number"),
        ] {
            assert_eq!(whole_ns(text), Err(reason.to_owned()), "{text}");
        }
        assert_eq!([count("374"), count("374.0"), count("4294967295")], [Ok(374), Ok(374), Ok(u32::MAX)]);
        for text in ["", "-1", "+1", "1.5", "4294967296", "x"] {
            assert_eq!(count(text), Err(format!("'{text}' is no whole number of 32 bits")), "{text}");
        }
    }
}
