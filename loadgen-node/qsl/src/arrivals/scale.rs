//! The factor of a trace's rate, exact to the digit.

use std::fmt;
use std::str::FromStr;

use super::decimal::is_digits;

/// A factor of the rate: due times are divided by it. Twice the rate is 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    /// The digits, without the point.
    digits: u64,
    /// The number of digits behind the point.
    places: u32,
}

impl Scale {
    /// The rate as it is.
    pub const ONE: Scale = Scale { digits: 1, places: 0 };

    /// The time at the scaled rate, rounded down to a nanosecond. None where 64 bits cannot count it.
    pub(super) fn apply(self, ns: u64) -> Option<u64> {
        let scaled = u128::from(ns) * 10_u128.pow(self.places) / u128::from(self.digits);
        u64::try_from(scaled).ok()
    }
}

impl FromStr for Scale {
    type Err = String;

    fn from_str(text: &str) -> Result<Scale, String> {
        let wrong =
            || format!("scale '{text}' is no decimal number above 0 with at most nine places, such as 2 or 0.5");
        let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
        if !is_digits(whole) || !is_digits(fraction) || fraction.len() > 9 {
            return Err(wrong());
        }
        let fraction = fraction.trim_end_matches('0');
        let digits = format!("{whole}{fraction}").parse().ok().filter(|digits| *digits > 0).ok_or_else(wrong)?;
        Ok(Scale { digits, places: fraction.len() as u32 })
    }
}

impl fmt::Display for Scale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = 10_u64.pow(self.places);
        match self.places {
            0 => write!(f, "{}", self.digits),
            places => write!(f, "{}.{:0width$}", self.digits / unit, self.digits % unit, width = places as usize),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twice_the_rate_halves_the_times() {
        let scaled = |text: &str, ns| text.parse::<Scale>().unwrap().apply(ns);
        assert_eq!(scaled("2", 27_482_000_001), Some(13_741_000_000));
        assert_eq!(scaled("0.5", 7), Some(14));
        assert_eq!(scaled("1.5", 3_000_000_000), Some(2_000_000_000));
        assert_eq!(scaled("1", u64::MAX), Some(u64::MAX));
        assert_eq!(scaled("0.5", u64::MAX), None);
        for (text, printed) in [("2", "2"), ("2.50", "2.5"), ("0.000000001", "0.000000001"), ("1.0", "1"), ("10", "10")]
        {
            assert_eq!(text.parse::<Scale>().unwrap().to_string(), printed);
        }
        for text in ["", "0", "0.0", "-1", "1e3", "x", "1.", ".5", "NaN", "0.0000000001", "99999999999999999999"] {
            assert!(text.parse::<Scale>().unwrap_err().contains("above 0"), "{text}");
        }
    }
}
