//! The rows of a file as columns: checked for order, counted, and sorted where the user asks for it.

use lon_machine::memory;

use super::decimal;
use super::row::Row;
use super::unit;

/// Rows of a trace at most. Queries are numbered with 32 bits.
const MAX_ROWS: u64 = 1 << 32;

/// Rows between two looks at the memory that is left.
const LOOK_ROWS: u64 = 1 << 20;

/// A column that all rows have, or none.
pub(super) type Optional = Option<Vec<u32>>;

/// The rows that are kept, as columns of equal length, and counts of all.
#[derive(Debug, Default)]
pub(super) struct Columns {
    pub time_ns: Vec<u64>,
    pub samples: Optional,
    pub tokens_in: Optional,
    pub tokens_out: Optional,
    /// The earliest time of the file, also where its row was left out.
    pub earliest_ns: u64,
    latest_ns: u64,
    previous_ns: u64,
    /// The earliest and the latest time, as they are written.
    pub first: String,
    pub last: String,
    pub rows: u64,
    pub failed: u64,
    pub out_of_order: u64,
}

/// The rows that are taken.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Taken {
    /// True where rows that failed are left out.
    pub drops_failed: bool,
    /// True where rows may go back in time.
    pub any_order: bool,
}

impl Columns {
    /// Adds a row.
    ///
    /// # Errors
    /// The row goes back in time, lacks a column that others have, or is one too many.
    pub(super) fn push(&mut self, row: &Row<'_>, taken: Taken) -> Result<(), String> {
        if self.rows >= MAX_ROWS {
            return Err(format!("a trace has at most {MAX_ROWS} rows: cut it"));
        }
        if self.rows.is_multiple_of(LOOK_ROWS) {
            self.check_memory(memory::available_bytes())?;
        }
        self.note(row, taken)?;
        if row.has_failed && taken.drops_failed {
            return Ok(());
        }
        let is_first = self.time_ns.is_empty();
        add(&mut self.samples, row.sample, is_first, "sample")?;
        add(&mut self.tokens_in, row.tokens_in, is_first, "count of input tokens")?;
        add(&mut self.tokens_out, row.tokens_out, is_first, "count of output tokens")?;
        self.time_ns.push(row.time_ns);
        Ok(())
    }

    /// Counts a row and compares its time with those before.
    fn note(&mut self, row: &Row<'_>, taken: Taken) -> Result<(), String> {
        let is_first = self.rows == 0;
        if !is_first && row.time_ns < self.previous_ns {
            if !taken.any_order {
                let back = unit::duration(self.previous_ns - row.time_ns);
                let time = decimal::start_of(row.time);
                return Err(format!("time {time} is {back} before that of the line before: give sort=yes"));
            }
            self.out_of_order += 1;
        }
        if is_first || row.time_ns < self.earliest_ns {
            self.earliest_ns = row.time_ns;
            row.time.clone_into(&mut self.first);
        }
        if is_first || row.time_ns >= self.latest_ns {
            self.latest_ns = row.time_ns;
            row.time.clone_into(&mut self.last);
        }
        self.previous_ns = row.time_ns;
        self.rows += 1;
        self.failed += u64::from(row.has_failed);
        Ok(())
    }

    /// Checks that the columns may grow to twice their size.
    fn check_memory(&self, available_bytes: Option<u64>) -> Result<(), String> {
        let others = [&self.samples, &self.tokens_in, &self.tokens_out].into_iter().flatten().count() as u64;
        let needed = 2 * self.time_ns.len() as u64 * (8 + 4 * others);
        match available_bytes {
            Some(available) if needed > available => Err(format!(
                "{} rows fill the memory: {available} bytes are available, {needed} are needed to read on; cut the \
                 trace",
                self.rows
            )),
            _ => Ok(()),
        }
    }

    /// Puts rows into the order of their times; rows of one time keep theirs.
    pub(super) fn sort(&mut self) {
        if self.out_of_order == 0 {
            return;
        }
        let mut order: Vec<u32> = (0..self.time_ns.len() as u32).collect();
        order.sort_by_key(|at| self.time_ns[*at as usize]);
        self.time_ns = order.iter().map(|at| self.time_ns[*at as usize]).collect();
        for column in self.others().into_iter().flatten() {
            *column = order.iter().map(|at| column[*at as usize]).collect();
        }
    }

    /// Keeps the rows of a range alone.
    pub(super) fn keep(&mut self, from: usize, to: usize) {
        self.time_ns.truncate(to);
        self.time_ns.drain(..from);
        for column in self.others().into_iter().flatten() {
            column.truncate(to);
            column.drain(..from);
        }
    }

    fn others(&mut self) -> [Option<&mut Vec<u32>>; 3] {
        [self.samples.as_mut(), self.tokens_in.as_mut(), self.tokens_out.as_mut()]
    }
}

/// Adds a value to a column that the first row has, or has not.
fn add(column: &mut Optional, value: Option<u32>, is_first: bool, name: &str) -> Result<(), String> {
    match (column.as_mut(), value) {
        (None, None) => Ok(()),
        (Some(column), Some(value)) => {
            column.push(value);
            Ok(())
        }
        (None, Some(value)) if is_first => {
            *column = Some(vec![value]);
            Ok(())
        }
        (None, Some(_)) => Err(format!("it has a {name}, the rows before have none: all rows have one, or none")),
        (Some(_), None) => Err(format!("it has no {name}, the rows before have one: all rows have one, or none")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(time_ns: u64) -> Row<'static> {
        Row { time: "t", time_ns, ..Row::default() }
    }

    #[test]
    fn rows_are_limited_in_number_and_by_memory() {
        let mut columns = Columns { rows: MAX_ROWS, ..Columns::default() };
        let refusal = columns.push(&row(1), Taken::default()).unwrap_err();
        assert_eq!(refusal, "a trace has at most 4294967296 rows: cut it");
        let columns = Columns {
            time_ns: vec![0; 1_000],
            tokens_in: Some(vec![0; 1_000]),
            tokens_out: Some(vec![0; 1_000]),
            rows: 1_000,
            ..Columns::default()
        };
        assert_eq!([columns.check_memory(None), columns.check_memory(Some(32_000))], [Ok(()), Ok(())]);
        let refusal = columns.check_memory(Some(31_999)).unwrap_err();
        assert_eq!(
            refusal,
            "1000 rows fill the memory: 31999 bytes are available, 32000 are needed to read on; cut the trace"
        );
    }

    #[test]
    fn sorting_keeps_rows_whole_and_equal_times_in_order() {
        let mut columns = Columns::default();
        for (time_ns, sample) in [(5, 0), (3, 1), (5, 2), (1, 3), (3, 4)] {
            let taken = Taken { any_order: true, ..Taken::default() };
            columns.push(&Row { sample: Some(sample), ..row(time_ns) }, taken).unwrap();
        }
        columns.sort();
        assert_eq!(columns.time_ns, [1, 3, 3, 5, 5]);
        assert_eq!(columns.samples, Some(vec![3, 1, 4, 0, 2]));
        assert_eq!((columns.out_of_order, columns.earliest_ns, columns.latest_ns), (2, 1, 5));
    }
}
