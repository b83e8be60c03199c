//! Lines of numbers without a header: results of vegeta, and gaps.

use super::decimal;
use super::format::TraceFormat;
use super::row::{Row, fields};
use super::unit::TimeUnit;

/// The least columns of vegeta's results: time, code, latency, bytes out, bytes in, error, body.
const VEGETA_COLUMNS: usize = 7;

/// The least digits of a Unix time in nanoseconds: those of 2001.
const UNIX_DIGITS: usize = 18;

/// The format that the numbers of a line say.
pub(super) fn recognise(line: &str) -> Option<TraceFormat> {
    let first = fields(line).next().unwrap_or_default();
    let is_unix_time = decimal::is_digits(first) && first.len() >= UNIX_DIGITS;
    match fields(line).count() {
        1 if decimal::is_number(first) => Some(TraceFormat::Gaps),
        VEGETA_COLUMNS.. if is_unix_time => Some(TraceFormat::Vegeta),
        _ => None,
    }
}

/// The row in a line of vegeta's results.
///
/// # Errors
/// A column is missing, or the time is no whole number.
pub(super) fn vegeta(line: &str) -> Result<Row<'_>, String> {
    let time = fields(line).next().unwrap_or_default();
    let time_ns = decimal::whole_ns(time)?;
    match fields(line).count() {
        VEGETA_COLUMNS.. => Ok(Row { time, time_ns, ..Row::default() }),
        columns => Err(format!("it has {columns} columns, results of vegeta have {VEGETA_COLUMNS} or more")),
    }
}

/// Gaps between queries: each time is the sum of the gaps so far.
pub(super) struct Gaps {
    unit_ns: u64,
    time_ns: u64,
}

impl Gaps {
    pub(super) fn of(unit: TimeUnit) -> Gaps {
        Gaps { unit_ns: unit.ns(), time_ns: 0 }
    }

    /// The query after the gap in a line.
    ///
    /// # Errors
    /// The line is no number, or the sum is more than 64 bits can count.
    pub(super) fn row<'a>(&mut self, line: &'a str) -> Result<Row<'a>, String> {
        let gap_ns = decimal::ns(line, self.unit_ns)?;
        self.time_ns = self.time_ns.checked_add(gap_ns).ok_or("the gaps so far are more than 584 years")?;
        Ok(Row { time: line, time_ns: self.time_ns, ..Row::default() })
    }
}
