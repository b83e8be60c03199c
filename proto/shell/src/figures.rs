//! Bytes and durations as people read them: in the unit that fits.

use std::time::Duration;

/// A number of bytes in the largest decimal unit that fits: `999 B`, `1.00 kB`, `963.40 MB`.
pub fn bytes(count: u64) -> String {
    let units = [(1_000_000_000_000, "TB"), (1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB")];
    let unit = units.iter().find(|(size, _)| count >= *size);
    unit.map_or_else(|| format!("{count} B"), |(size, unit)| format!("{:.2} {unit}", count as f64 / *size as f64))
}

/// A duration in ns with one decimal in the unit that fits: `1.5µs`, `2.3ms`. What is below 0 is shown as `0.0ns`.
pub fn duration_ns(ns: i64) -> String {
    length_ns(ns.max(0) as u64)
}

/// The same of a duration that cannot be below 0.
pub fn length_ns(ns: u64) -> String {
    format!("{:.1?}", Duration::from_nanos(ns))
}

/// A number with three significant digits, and as many more as its whole part has: `0.0123`, `1.5`, `99.8`, `1235`.
pub fn number(value: f64) -> String {
    if !value.is_finite() || value == 0.0 {
        return format!("{value}");
    }
    let whole_digits = value.abs().log10().floor() as i32 + 1;
    let text = format!("{value:.*}", usize::try_from(3 - whole_digits).unwrap_or(0));
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_significant_digits() {
        let texts = [0.0, 0.012_345, 1.5, 99.84, 123.4, 1_234.6, -2.345].map(number);
        assert_eq!(texts, ["0", "0.0123", "1.5", "99.8", "123", "1235", "-2.35"]);
    }

    #[test]
    fn bytes_have_decimal_units() {
        assert_eq!([0, 999, 1_000, 963_400_000].map(bytes), ["0 B", "999 B", "1.00 kB", "963.40 MB"]);
    }

    #[test]
    fn durations_have_fitting_units() {
        assert_eq!(
            [-1, 0, 1_500, 2_345_678, 3_000_000_000].map(duration_ns),
            ["0.0ns", "0.0ns", "1.5µs", "2.3ms", "3.0s"]
        );
    }
}
