//! The number that a person types for a setting, with its unit or without.
//!
//! Without a unit it counts in the unit of the name that was typed: milliseconds and percent for the keys of config
//! files, nanoseconds and fractions for the names of fields, which end in theirs.

use super::keys::{Key, Unit};
use crate::time_units;

/// The lowest percentile that is taken: what is below was meant as a fraction.
const LOWEST_PERCENTILE: f64 = 50.0;

/// Unit of a number that the user types.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Typed {
    unit: Unit,
    /// One of what is counted, in what the field counts.
    factor: f64,
    /// A nanosecond, in what the field counts.
    ns: f64,
    is_field: bool,
}

impl Typed {
    /// A number for this key, by the key's name or by the field's.
    pub(super) fn new(key: &Key, is_field: bool) -> Typed {
        let factor = if is_field { 1.0 } else { key.factor() };
        Typed { unit: key.unit, factor, ns: key.factor() / 1e6, is_field }
    }

    /// A whole number for the field; an error says what was wanted.
    pub(super) fn whole(self, text: &str) -> Result<u64, String> {
        // Exact, where it can be: numbers may have 64 bits.
        if let Ok(number) = text.parse::<u64>() {
            self.refuse_short(number)?;
            return number.checked_mul(self.factor as u64).ok_or_else(|| self.requirement());
        }
        if !matches!(self.unit, Unit::Ms | Unit::RunMs) {
            return Err(self.requirement());
        }
        let number = self.time(text)?;
        let rounded = number.round();
        let is_whole = (number - rounded).abs() < 1e-6 && rounded < u64::MAX as f64;
        if is_whole { Ok(rounded as u64) } else { Err(format!("{}, in whole {}", self.requirement(), self.grain())) }
    }

    /// A whole number for the field, which may be negative; an error says what was wanted.
    pub(super) fn signed(self, text: &str) -> Result<i32, String> {
        text.parse().map_err(|_| "a whole number".to_owned())
    }

    /// A real number for the field; an error says what was wanted.
    pub(super) fn real(self, text: &str) -> Result<f64, String> {
        match self.unit {
            Unit::Ms | Unit::RunMs => self.time(text),
            Unit::PerSecond => {
                let number = number(text.strip_suffix("/s").unwrap_or(text).trim_end());
                number.filter(|rate| *rate > 0.0).ok_or_else(|| self.requirement())
            }
            Unit::Percent => {
                self.refuse_unclear(text)?;
                let share = self.share(text)?;
                let most = if self.is_field { 1.0 } else { 100.0 * self.factor };
                if share <= most { Ok(share) } else { Err(self.requirement()) }
            }
            Unit::Percentile => {
                let share = self.share(text)?;
                let percent = if self.is_field { share * 100.0 } else { share / self.factor };
                if (LOWEST_PERCENTILE..100.0).contains(&percent) { Ok(share) } else { Err(self.not_so(percent)) }
            }
            Unit::Plain | Unit::Share => number(text).ok_or_else(|| self.requirement()),
        }
    }

    /// The field of a key in percent has the key's own name, and results have it as a part of 1. So a number up to 1
    /// needs its sign.
    fn refuse_unclear(self, text: &str) -> Result<(), String> {
        let unclear = number(text).filter(|number| !self.is_field && *number > 0.0 && *number <= 1.0);
        unclear.map_or(Ok(()), |number| {
            let percent = (number * 1e11).round() / 1e9;
            Err(format!("clear (config files have percent here, results a part of 1): write {number}% or {percent}%"))
        })
    }

    /// The duration of a run without a unit counts milliseconds, as in config files. One below a second was probably
    /// meant in seconds, so it needs its unit.
    fn refuse_short(self, number: u64) -> Result<(), String> {
        let is_unclear = self.unit == Unit::RunMs && !self.is_field && (1..1_000).contains(&number);
        let remedy = || format!("clear (config files have milliseconds here): write {number}s or {number}ms");
        if is_unclear { Err(remedy()) } else { Ok(()) }
    }

    fn time(self, text: &str) -> Result<f64, String> {
        let time = match time_units::split(text) {
            Some((digits, ns)) => number(digits).map(|number| number * ns * self.ns),
            None => number(text).map(|number| number * self.factor),
        };
        time.filter(|time| *time >= 0.0).ok_or_else(|| self.requirement())
    }

    fn share(self, text: &str) -> Result<f64, String> {
        let share = match text.strip_suffix('%') {
            Some(percent) => number(percent.trim_end()).map(|percent| percent * 0.01),
            None => number(text).map(|number| number * self.factor),
        };
        share.filter(|share| *share >= 0.0).ok_or_else(|| self.requirement())
    }

    /// Why a percentile is refused, with what was probably meant.
    fn not_so(self, percent: f64) -> String {
        if self.is_field {
            return format!("a fraction from 0.5 to 1: {}", if percent > 100.0 { "0.99, not 99" } else { "0.99" });
        }
        // A product with 0.01 is a little more or less than what was typed.
        let [percent, meant] = [percent, percent * 100.0].map(|number| (number * 1e6).round() / 1e6);
        match (LOWEST_PERCENTILE..100.0).contains(&meant) {
            true => format!("percent: {meant}, not {percent}"),
            false => format!("{}: 99, not 0.99", self.requirement()),
        }
    }

    /// Describes the values that are accepted.
    fn requirement(self) -> String {
        let text = match (self.unit, self.is_field) {
            (Unit::Plain, _) => "a whole number from 0 on",
            (Unit::Share, _) => "a share above 0, such as 0.5; 1 is as much again",
            (Unit::PerSecond, _) => "a rate above 0, in queries per second",
            (Unit::Percent, false) => "percent, from 0 to 100",
            (Unit::Percentile, false) => "percent, from 50 to below 100",
            (Unit::Percent | Unit::Percentile, true) => "a fraction, from 0 to 1",
            (Unit::Ms | Unit::RunMs, false) => "a time: milliseconds, or a number with ns, us, ms, s, m or h",
            (Unit::Ms | Unit::RunMs, true) => {
                return format!("a time: whole {}, or a number with ns, us, ms, s, m or h", self.grain());
            }
        };
        text.to_owned()
    }

    /// Returns the unit of a field of time.
    fn grain(self) -> &'static str {
        if self.ns < 1.0 { "milliseconds" } else { "nanoseconds" }
    }
}

/// A decimal number; no "inf", no "nan".
fn number(text: &str) -> Option<f64> {
    text.parse().ok().filter(|number: &f64| number.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenarios::Scenario;
    use crate::settings::keys::{KEYS, find};

    fn typed(name: &str, scenario: Scenario) -> Typed {
        Typed::new(&find(name, scenario).unwrap(), false)
    }

    #[test]
    fn times_have_units_or_count_milliseconds() {
        let latency = typed("target_latency", Scenario::SERVER);
        for (text, ns) in [
            ("15", 15_000_000),
            ("0.1", 100_000),
            ("10.5", 10_500_000),
            ("15ms", 15_000_000),
            ("500us", 500_000),
            ("500 µs", 500_000),
            ("1ns", 1),
            ("2s", 2_000_000_000),
            ("1m", 60_000_000_000),
            ("1min", 60_000_000_000),
            ("1h", 3_600_000_000_000),
        ] {
            assert_eq!(latency.whole(text), Ok(ns), "{text}");
            assert_eq!(typed("target_latency", Scenario::SINGLE_STREAM).real(text), Ok(ns as f64), "{text}");
        }
        for bad in ["", "-1", "x", "1d", "inf", "0.1ns", "99999999999999h", "-2ms"] {
            assert!(latency.whole(bad).is_err(), "{bad}");
        }
        let duration = typed("min_duration", Scenario::SERVER);
        assert_eq!(
            (duration.whole("60s"), duration.whole("60000"), duration.whole("1.5s")),
            (Ok(60_000), Ok(60_000), Ok(1_500))
        );
        assert!(duration.whole("1us").unwrap_err().contains("whole milliseconds"));
        for unclear in ["1", "3", "999"] {
            assert!(duration.whole(unclear).unwrap_err().contains(&format!("write {unclear}s or {unclear}ms")));
            assert_eq!(duration.whole(&format!("{unclear}ms")), Ok(unclear.parse().unwrap()));
        }
        assert_eq!((duration.whole("0"), duration.whole("1000")), (Ok(0), Ok(1_000)));
    }

    #[test]
    fn fields_count_what_their_names_say() {
        let field = |name, scenario| Typed::new(&find(name, scenario).unwrap(), true);
        assert_eq!(field("target_latency", Scenario::SERVER).whole("15000000"), Ok(15_000_000));
        assert_eq!(field("target_latency", Scenario::SERVER).whole("15ms"), Ok(15_000_000));
        assert_eq!(field("min_duration", Scenario::SERVER).whole("60s"), Ok(60_000));
        assert_eq!(field("min_duration", Scenario::SERVER).whole("60"), Ok(60), "its name ends in ms");
        let percentile = field("target_latency_percentile", Scenario::SERVER);
        assert_eq!(percentile.real("0.99"), Ok(0.99));
        assert_eq!(percentile.real("90%"), Ok(0.9));
        assert!(percentile.real("99").unwrap_err().contains("0.99, not 99"));
    }

    #[test]
    fn percentiles_are_percent() {
        let percentile = typed("target_latency_percentile", Scenario::SERVER);
        assert_eq!(
            (percentile.real("95"), percentile.real("99.9%")),
            (Ok(0.950_000_000_000_000_1), Ok(0.999_000_000_000_000_1))
        );
        assert_eq!(percentile.real("0.99").unwrap_err(), "percent: 99, not 0.99");
        for bad in ["150", "0.2", "49", "100", "-1", "p99"] {
            assert!(percentile.real(bad).unwrap_err().contains("percent, from 50"), "{bad}");
        }
    }

    /// Every text about a key that counts percent says so, whatever was typed.
    #[test]
    fn keys_in_percent_never_ask_for_a_fraction() {
        let mut refused = 0;
        let keys = KEYS.iter().filter(|key| matches!(key.unit, Unit::Percent | Unit::Percentile));
        for (key, bad) in keys.flat_map(|key| ["150", "0.99", "-1", "x", "", "5s", "inf", "101%"].map(|bad| (key, bad)))
        {
            if let Err(text) = Typed::new(key, false).real(bad) {
                assert!(text.contains("percent") && !text.contains("fraction"), "{}={bad}: {text}", key.name);
                refused += 1;
            }
        }
        assert!(refused >= 4 * 7, "{refused}");
    }

    #[test]
    fn shares_are_no_more_than_all() {
        let probability = typed("accuracy_log_probability", Scenario::SERVER);
        assert_eq!((probability.real("100"), probability.real("0")), (Ok(1.0), Ok(0.0)));
        assert!(probability.real("500").unwrap_err().contains("from 0 to 100"));
        assert_eq!((probability.real("1%"), probability.real("1.5")), (Ok(0.01), Ok(0.015)));
        for unclear in ["1", "0.536"] {
            assert!(probability.real(unclear).unwrap_err().contains(&format!("{unclear}% or ")), "{unclear}");
        }
        let field = Typed::new(&find("accuracy_log_probability", Scenario::SERVER).unwrap(), true);
        assert!(field.real("1").is_ok() && field.real("2").is_err());
    }

    #[test]
    fn rates_are_above_zero() {
        let rate = typed("target_qps", Scenario::SERVER);
        assert_eq!((rate.real("500.5"), rate.real("500 /s")), (Ok(500.5), Ok(500.0)));
        for bad in ["0", "-3", "nan", "fast"] {
            assert!(rate.real(bad).unwrap_err().contains("queries per second"), "{bad}");
        }
    }
}
