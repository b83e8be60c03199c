//! Numbers as displays have them: short, and with the same width as far as possible.

use std::time::Duration;

use lon_proto::figures::{digits, length_ns};

/// A duration in ns in the unit that fits: `2.3ms`.
pub(super) fn time(ns: u64) -> String {
    length_ns(ns)
}

/// A rate with three digits: `9.3`, `250`, `12.3k`, `3.70M`.
pub(super) fn rate(per_s: f64) -> String {
    let (value, unit) = scaled(per_s, &["", "k", "M", "G"]);
    let whole_alone = unit.is_empty() && (value == 0.0 || value >= 100.0);
    format!("{value:.*}{unit}", if whole_alone { 0 } else { digits(value) })
}

/// Bytes a second as bits with three digits: `0 bit/s`, `12.3 kbit/s`, `3.70 Gbit/s`.
pub(super) fn bandwidth(bytes_per_s: f64) -> String {
    let (value, unit) = scaled(bytes_per_s * 8.0, &["bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"]);
    format!("{value:.*} {unit}", if unit == "bit/s" { 0 } else { digits(value) })
}

/// Hours, minutes and seconds: `01:05`, `2:00:05`.
pub(super) fn clock(time: Duration) -> String {
    let seconds = time.as_secs();
    let (hours, minutes, seconds) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    if hours == 0 { format!("{minutes:02}:{seconds:02}") } else { format!("{hours}:{minutes:02}:{seconds:02}") }
}

/// The value in the largest unit that fits, each a thousand times the one before.
fn scaled<'a>(value: f64, units: &[&'a str]) -> (f64, &'a str) {
    let mut value = value.max(0.0);
    let mut unit = units.first().copied().unwrap_or("");
    for next in units.iter().skip(1).copied() {
        // A value that would be shown as 1000 is shown in the next unit.
        if value < 999.5 {
            break;
        }
        value /= 1_000.0;
        unit = next;
    }
    (value, unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits() {
        let rates = [0.0, 0.5, 9.34, 99.6, 250.4, 999.6, 12_345.0, 3_700_000.0].map(rate);
        assert_eq!(rates, ["0", "0.50", "9.34", "99.6", "250", "1.00k", "12.3k", "3.70M"]);
        assert_eq!([0.0, 12.0, 1_542.5, 3.7e8].map(bandwidth), ["0 bit/s", "96 bit/s", "12.3 kbit/s", "2.96 Gbit/s"]);
        let clocks = [5, 65, 7_205].map(|s| clock(Duration::from_secs(s)));
        assert_eq!(clocks, ["00:05", "01:05", "2:00:05"]);
    }
}
