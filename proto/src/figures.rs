//! Sizes, rates and durations as people read them, in the unit that fits; and sizes as they type them.

use std::time::Duration;

/// A number of bytes in the largest decimal unit that fits: `999 B`, `1.00 kB`, `963.40 MB`.
pub fn bytes(count: u64) -> String {
    let units = [(1_000_000_000_000, "TB"), (1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB")];
    let unit = units.iter().find(|(size, _)| count >= *size);
    unit.map_or_else(|| format!("{count} B"), |(size, unit)| format!("{:.2} {unit}", count as f64 / *size as f64))
}

/// Memory in whole GiB: `251 GiB`; empty where it is not known (0).
pub fn gib(bytes: u64) -> String {
    if bytes == 0 { String::new() } else { format!("{:.0} GiB", bytes as f64 / f64::from(1 << 30)) }
}

/// The bytes of a size with its unit: `512MiB`, `500 kB`, `2G`; `None` for other texts.
pub fn bytes_of(text: &str) -> Option<u64> {
    const BINARY: [(&str, u64); 7] = [
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
        ("TiB", 1 << 40),
        ("k", 1 << 10),
        ("M", 1 << 20),
        ("G", 1 << 30),
    ];
    const DECIMAL: [(&str, u64); 4] = [("kB", 1_000), ("MB", 1_000_000), ("GB", 1_000_000_000), ("B", 1)];
    let of = |(unit, bytes): &(&str, u64)| {
        let digits = text.strip_suffix(unit)?.trim_end();
        digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse::<u64>().ok()?.checked_mul(*bytes))?
    };
    BINARY.iter().chain(&DECIMAL).find_map(of)
}

/// Bits per second with three digits: `9.41 Gbit/s`, `0 bit/s`.
pub fn bit_rate(bits_per_s: f64) -> String {
    bit_rate_to(bits_per_s, 0)
}

/// The same with more digits than three.
pub fn bit_rate_to(bits_per_s: f64, more: usize) -> String {
    let units = [(1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s")];
    let unit = units.into_iter().find(|(unit, _)| bits_per_s.abs() >= *unit);
    let (unit, name) = unit.unwrap_or((1.0, "bit/s"));
    let value = bits_per_s / unit;
    if value == 0.0 { format!("0 {name}") } else { format!("{value:.*} {name}", digits(value) + more) }
}

/// Digits behind the point of a number that is shown with three digits, or with all before the point.
pub fn digits(value: f64) -> usize {
    match value.abs() {
        value if value >= 99.95 => 0,
        value if value >= 9.995 => 1,
        _ => 2,
    }
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
    fn sizes_are_read_with_their_units() {
        for (text, size) in [("64MiB", 64 << 20), ("8 GiB", 8 << 30), ("2G", 2 << 30), ("500kB", 500_000), ("7B", 7)] {
            assert_eq!(bytes_of(text), Some(size), "{text}");
        }
        for text in ["", "8", "GiB", "-8GiB", "+8GiB", "1.5GiB", "99999999999TiB", "8XB"] {
            assert_eq!(bytes_of(text), None, "{text}");
        }
        assert_eq!([0, 67_108_864_000].map(gib), ["", "62 GiB"]);
    }

    #[test]
    fn rates_have_three_digits() {
        let rates = [0.0, 500.0, 12_345.0, 512e6, 1.2345e9].map(bit_rate);
        assert_eq!(rates, ["0 bit/s", "500 bit/s", "12.3 kbit/s", "512 Mbit/s", "1.23 Gbit/s"]);
        assert_eq!(bit_rate_to(9.996e9, 1), "10.00 Gbit/s");
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
