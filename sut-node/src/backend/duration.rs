//! Durations as people write them: `2ms`, `500us`, `1.5s`.

use std::time::Duration;

/// A text that is no duration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not a duration: give a number and ns, us, ms, s or min (for example 500us, 2ms, 1.5s)")]
pub struct DurationError(String);

/// A year.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);

/// Parses a duration: a decimal number and `ns`, `us`, `ms`, `s` or `min`.
///
/// # Errors
/// Anything else, a number without unit included: nobody should have to guess which one was meant.
pub fn parse_duration(text: &str) -> Result<Duration, DurationError> {
    let error = || DurationError(text.to_owned());
    let unit_at = text.find(|c: char| c.is_ascii_alphabetic()).ok_or_else(error)?;
    let (number, unit) = text.split_at(unit_at);
    let plain = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let seconds_per_unit = match unit {
        "ns" => 1e-9,
        "us" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "min" => 60.0,
        _ => return Err(error()),
    };
    let number: f64 = if plain { number.parse().map_err(|_| error())? } else { return Err(error()) };
    let duration = Duration::try_from_secs_f64(number * seconds_per_unit).map_err(|_| error())?;
    // Longer ones are slips, and moments that far away cannot be computed with.
    if duration <= LONGEST { Ok(duration) } else { Err(error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_write() {
        for (text, ns) in [
            ("0ms", 0),
            ("1ns", 1),
            ("500us", 500_000),
            ("2ms", 2_000_000),
            ("1.5s", 1_500_000_000),
            ("2min", 120_000_000_000),
        ] {
            assert_eq!(parse_duration(text), Ok(Duration::from_nanos(ns)), "{text}");
        }
        for bad in ["", "2", "ms", "2 ms", "-2ms", "+2ms", "2h", "1e3s", ".s", "infs", "nans", "99999999999999999999s"]
        {
            let error = parse_duration(bad).unwrap_err().to_string();
            assert!(error.starts_with(&format!("'{bad}'")), "{error}");
        }
    }
}
