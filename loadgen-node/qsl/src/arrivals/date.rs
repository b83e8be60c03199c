//! Dates of traces as nanoseconds since 1970. A date without an offset is taken as UTC: only gaps matter.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use super::decimal;

/// A reader of dates. It keeps the last minute, which most rows share with the row before.
#[derive(Debug, Default)]
pub(super) struct Dates {
    /// Date and minute, `2023-11-16 18:15`, and the offset, as they are written.
    minute: String,
    offset: String,
    minute_ns: u64,
}

/// The letters of a date up to its minute.
const MINUTE_LETTERS: usize = "2023-11-16 18:15".len();

/// The end of a minute with a leap second.
const MINUTE_END_NS: u64 = 61_000_000_000;

impl Dates {
    /// Nanoseconds since 1970 of a date such as `2023-11-16 18:15:46.6805900`, also with `T`, `Z` or an offset.
    ///
    /// # Errors
    /// The text is no date, or one before 1970.
    pub(super) fn ns(&mut self, text: &str) -> Result<u64, String> {
        self.read(text).ok_or_else(|| {
            format!("'{}' is no date from 1970 on, such as 2023-11-16 18:15:46.6805900", decimal::start_of(text))
        })
    }

    fn read(&mut self, text: &str) -> Option<u64> {
        let (minute, tail) = text.split_at_checked(MINUTE_LETTERS)?;
        let tail = tail.strip_prefix(':')?;
        let offset_at = tail.bytes().position(|byte| !byte.is_ascii_digit() && byte != b'.').unwrap_or(tail.len());
        let (seconds, offset) = tail.split_at(offset_at);
        if minute != self.minute || offset != self.offset {
            self.minute_ns = minute_ns(minute, offset.trim_start())?;
            minute.clone_into(&mut self.minute);
            offset.clone_into(&mut self.offset);
        }
        let within_ns = decimal::ns(seconds, 1_000_000_000).ok().filter(|ns| *ns < MINUTE_END_NS)?;
        self.minute_ns.checked_add(within_ns)
    }
}

fn minute_ns(minute: &str, offset: &str) -> Option<u64> {
    let timestamp = match offset {
        "" => format!("{minute}:00").parse::<DateTime>().ok()?.to_zoned(TimeZone::UTC).ok()?.timestamp(),
        _ => format!("{minute}:00{offset}").parse::<Timestamp>().ok()?,
    };
    u64::try_from(timestamp.as_nanosecond()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_keep_all_their_digits() {
        // `date -u -d '2023-11-16 18:15:46' +%s` is 1700158546.
        for (text, ns) in [
            ("2023-11-16 18:15:46.6805900", 1_700_158_546_680_590_000),
            ("2023-11-16T18:15:46.6805900Z", 1_700_158_546_680_590_000),
            ("2023-11-16 18:15:46.680590", 1_700_158_546_680_590_000),
            ("2023-11-16 18:15:46.6805901", 1_700_158_546_680_590_100),
            ("2023-11-16 18:15:46", 1_700_158_546_000_000_000),
            ("2023-11-16 18:15:46+00:00", 1_700_158_546_000_000_000),
            ("2023-11-16 18:15:46.123456789+00:00", 1_700_158_546_123_456_789),
            ("2023-11-16 19:15:46+01:00", 1_700_158_546_000_000_000),
            ("2023-11-16 13:15:46-0500", 1_700_158_546_000_000_000),
            ("1970-01-01 00:00:00", 0),
        ] {
            assert_eq!(Dates::default().ns(text), Ok(ns), "{text}");
        }
    }

    #[test]
    fn a_minute_is_kept_with_its_offset() {
        let mut dates = Dates::default();
        let times_ns: Vec<u64> = [
            "2023-11-16 18:15:00",
            "2023-11-16 18:15:59.9999999",
            "2023-11-16 18:15:00+01:00",
            "2023-11-16 18:16:00",
            "2023-11-16 18:15:00",
        ]
        .iter()
        .map(|text| dates.ns(text).unwrap() - 1_700_154_900_000_000_000)
        .collect();
        let hour = 3_600_000_000_000;
        assert_eq!(times_ns, [hour, hour + 59_999_999_900, 0, hour + 60_000_000_000, hour]);
    }

    #[test]
    fn texts_that_are_no_dates_are_named() {
        for text in [
            "",
            "374",
            "2023-11-16",
            "2023-11-16 18:15",
            "2023-11-16 18:15:",
            "2023-11-16 18:15:61",
            "2023-11-16 18:15:-1",
            "2023-13-16 18:15:46",
            "2023-02-30 18:15:46",
            "1969-12-31 23:59:59",
            "2023-11-16 18:15:46 o'clock",
            "16.11.2023 18:15:46",
            "ééééééééééééééééééé",
        ] {
            let refusal = Dates::default().ns(text).unwrap_err();
            assert!(refusal.starts_with(&format!("'{text}' is no date from 1970 on")), "{refusal}");
        }
    }
}
