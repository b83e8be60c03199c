//! Moments in the two forms that the detail log uses, in UTC.

use jiff::Timestamp;

/// A moment as `YYYY-MM-DDTHH:MM:SSZ`; ns since 1970 UTC.
pub(crate) fn iso(unix_ns: i64) -> String {
    format(unix_ns, "%Y-%m-%dT%H:%M:%SZ")
}

/// A moment as `MM-DD-YYYY HH:MM:SS.mmm`, the form by which power measurements are aligned; ns since 1970 UTC.
pub(crate) fn power(unix_ns: i64) -> String {
    format(unix_ns, "%m-%d-%Y %H:%M:%S%.3f")
}

fn format(unix_ns: i64, form: &str) -> String {
    // Any 64-bit number of ns is within the years that a timestamp can hold.
    let moment = Timestamp::from_nanosecond(i128::from(unix_ns)).unwrap_or(Timestamp::UNIX_EPOCH);
    moment.strftime(form).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_moments() {
        assert_eq!(iso(0), "1970-01-01T00:00:00Z");
        assert_eq!(iso(951_782_399_000_000_000), "2000-02-28T23:59:59Z");
        assert_eq!(iso(951_782_400_000_000_000), "2000-02-29T00:00:00Z");
        assert_eq!(iso(4_102_444_799_000_000_000), "2099-12-31T23:59:59Z");
        assert_eq!(power(1_763_632_949_516_999_999), "11-20-2025 10:02:29.516");
    }
}
