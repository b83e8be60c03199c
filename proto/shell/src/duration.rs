//! Durations as people type them: `2ms`, `500us`, `1.5s`, `2m`. One grammar for every flag of both programs.

use std::time::Duration;

/// The error for a text that is not a duration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not a duration: give a number and ns, us, ms, s, m or h (for example 500us, 2ms, 1.5s, 2m)")]
pub struct DurationError(String);

/// The longest duration that is read: a year. Longer ones are slips, and moments that far away cannot be computed with.
pub const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);

/// Parses a duration: a decimal number, blanks if any, and one of the units `ns`, `us` (or `µs`), `ms`, `s`, `m` and
/// `min` (both minutes) and `h`.
///
/// # Errors
/// Everything else: a number without a unit, a sign, an exponent, more than a year.
pub fn parse_duration(text: &str) -> Result<Duration, DurationError> {
    read(text).filter(|duration| *duration <= LONGEST).ok_or_else(|| DurationError(text.to_owned()))
}

fn read(text: &str) -> Option<Duration> {
    let unit_at = text.find(|c: char| c.is_alphabetic())?;
    let (number, unit) = text.split_at(unit_at);
    let number = number.trim();
    let seconds_per_unit = match unit {
        "ns" => 1e-9,
        // Both letters that are written for micro.
        "us" | "\u{b5}s" | "\u{3bc}s" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return None,
    };
    // Rust's own parser also takes signs, exponents and "inf".
    let plain = number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let number: f64 = number.parse().ok().filter(|_| plain)?;
    Duration::try_from_secs_f64(number * seconds_per_unit).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_write() {
        for (text, ns) in [
            ("0ms", 0),
            ("1h", 3_600_000_000_000),
            ("1ns", 1),
            ("500us", 500_000),
            ("500µs", 500_000),
            ("2ms", 2_000_000),
            ("2 ms", 2_000_000),
            ("1.5s", 1_500_000_000),
            ("2min", 120_000_000_000),
            ("2m", 120_000_000_000),
            ("31536000s", 31_536_000_000_000_000),
        ] {
            assert_eq!(parse_duration(text), Ok(Duration::from_nanos(ns)), "{text}");
        }
        for bad in [
            "",
            "2",
            "5",
            "ms",
            "s",
            "x ms",
            "-2ms",
            "-1s",
            "+2ms",
            "1d",
            "2d",
            "1e3s",
            ".s",
            "infs",
            "nans",
            "2ms ",
            "31536001s",
            "99999999999999999999s",
        ] {
            let error = parse_duration(bad).unwrap_err().to_string();
            assert!(error.starts_with(&format!("'{bad}'")), "{error}");
        }
    }
}
