//! Units of times in files, and durations that users write.

use std::str::FromStr;

use super::decimal;

/// A unit of times in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeUnit {
    /// Seconds, in text `s`.
    Seconds,
    /// Milliseconds, in text `ms`.
    Milliseconds,
    /// Microseconds, in text `us`.
    Microseconds,
    /// Nanoseconds, in text `ns`.
    Nanoseconds,
}

impl TimeUnit {
    /// All units, the largest first.
    const ALL: [TimeUnit; 4] =
        [TimeUnit::Seconds, TimeUnit::Milliseconds, TimeUnit::Microseconds, TimeUnit::Nanoseconds];

    /// The name of the unit, as users write it.
    pub const fn name(self) -> &'static str {
        match self {
            TimeUnit::Seconds => "s",
            TimeUnit::Milliseconds => "ms",
            TimeUnit::Microseconds => "us",
            TimeUnit::Nanoseconds => "ns",
        }
    }

    /// The nanoseconds of one unit.
    pub const fn ns(self) -> u64 {
        match self {
            TimeUnit::Seconds => 1_000_000_000,
            TimeUnit::Milliseconds => 1_000_000,
            TimeUnit::Microseconds => 1_000,
            TimeUnit::Nanoseconds => 1,
        }
    }
}

impl FromStr for TimeUnit {
    type Err = String;

    fn from_str(text: &str) -> Result<TimeUnit, String> {
        let unit = TimeUnit::ALL.into_iter().find(|unit| unit.name() == text);
        unit.ok_or_else(|| format!("unit '{text}' is none of s, ms, us and ns"))
    }
}

/// Units of durations that users write, with their nanoseconds. The first that fits is printed.
const DURATIONS: [(&str, u64); 8] = [
    ("h", 3_600_000_000_000),
    ("m", 60_000_000_000),
    ("min", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("\u{b5}s", 1_000),
    ("ns", 1),
];

/// Nanoseconds of a duration with its unit: `10m`, `1.5s`.
///
/// # Errors
/// The text is no number with a unit.
pub(super) fn duration_ns(text: &str) -> Result<u64, String> {
    let unit_at = text.find(char::is_alphabetic).unwrap_or(text.len());
    let (number, unit) = text.split_at(unit_at);
    let unit_ns = DURATIONS.iter().find(|(name, _)| *name == unit).map(|(_, unit_ns)| *unit_ns);
    let time_ns = unit_ns.and_then(|unit_ns| decimal::ns(number.trim(), unit_ns).ok());
    time_ns.ok_or_else(|| format!("'{text}' is no time: give a number and ns, us, ms, s, m or h"))
}

/// The duration in the largest unit of which it is a whole number.
pub(super) fn duration(ns: u64) -> String {
    let (name, unit_ns) = DURATIONS.iter().find(|(_, unit_ns)| ns.is_multiple_of(*unit_ns)).unwrap_or(&("ns", 1));
    match ns {
        0 => "0s".to_owned(),
        _ => format!("{}{name}", ns / unit_ns),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_come_back_in_their_largest_unit() {
        for (text, ns, printed) in [
            ("10m", 600_000_000_000, "10m"),
            ("600s", 600_000_000_000, "10m"),
            ("1.5s", 1_500_000_000, "1500ms"),
            ("2 h", 7_200_000_000_000, "2h"),
            ("90min", 5_400_000_000_000, "90m"),
            ("1ns", 1, "1ns"),
            ("0s", 0, "0s"),
        ] {
            assert_eq!(duration_ns(text), Ok(ns), "{text}");
            assert_eq!(duration(ns), printed, "{text}");
        }
        for text in ["", "10", "m", "1d", "-1s", "nans", "1e30h"] {
            assert!(duration_ns(text).unwrap_err().contains("give a number and ns, us, ms, s, m or h"), "{text}");
        }
    }
}
