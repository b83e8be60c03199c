//! Tables that commands print: aligned for people, CSV for other programs, Markdown for pages of text.
//!
//! Cells may come from files of others: what is not seen, or would move a terminal's cursor, stands as U+FFFD.

use std::fmt::Write as _;

use lon_proto::text::{on_lines, on_one_line};

/// A table of texts. Rows are as long as the heads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// The heads of the columns.
    pub heads: Vec<String>,
    /// The rows, each with a text for each column.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// Of these heads, without rows.
    pub fn new<const N: usize>(heads: [&str; N]) -> Table {
        Table { heads: heads.map(str::to_owned).to_vec(), rows: Vec::new() }
    }

    /// With one more row.
    pub fn row<const N: usize>(&mut self, cells: [&str; N]) {
        self.rows.push(cells.map(str::to_owned).to_vec());
    }

    /// Each column as wide as its widest cell. Heads that are all empty are left out.
    pub fn aligned(&self) -> String {
        let has_heads = self.heads.iter().any(|head| !head.is_empty());
        let clean_row = |row: &Vec<String>| row.iter().map(|cell| on_one_line(cell)).collect::<Vec<String>>();
        let rows: Vec<Vec<String>> =
            has_heads.then_some(&self.heads).into_iter().chain(&self.rows).map(clean_row).collect();
        let width = |at: usize| rows.iter().filter_map(|row| row.get(at)).map(|cell| cell.chars().count()).max();
        let widths: Vec<usize> = (0..self.heads.len()).map(|at| width(at).unwrap_or_default()).collect();
        let mut text = String::new();
        for row in rows {
            // A format has no width beyond 65,535.
            let padded = |(cell, width): (&String, &usize)| {
                let blanks = width.saturating_sub(cell.chars().count());
                format!("{cell}{}", " ".repeat(blanks))
            };
            let line = row.iter().zip(&widths).map(padded).collect::<Vec<_>>().join("  ");
            // Writing to a String cannot fail.
            let _ = writeln!(text, "  {}", line.trim_end());
        }
        text
    }

    /// A line of heads, then a line for each row, as RFC 4180 has it, but with line ends of one character.
    pub fn csv(&self) -> String {
        let line = |cells: &Vec<String>| cells.iter().map(|cell| quoted(cell)).collect::<Vec<_>>().join(",") + "\n";
        std::iter::once(&self.heads).chain(&self.rows).map(line).collect()
    }

    /// As GitHub's Markdown has tables.
    pub fn markdown(&self) -> String {
        let line = |cells: &Vec<String>| {
            format!("| {} |\n", cells.iter().map(|cell| in_markdown(cell)).collect::<Vec<_>>().join(" | "))
        };
        let rows: String = self.rows.iter().map(line).collect();
        format!("{}|{}\n{rows}", line(&self.heads), "---|".repeat(self.heads.len()))
    }
}

/// A cell of CSV: in quotes where it has to be. Lines in it stay lines. A text that spreadsheets would take for a
/// formula stands behind an apostrophe; figures stay as they are.
pub(crate) fn quoted(cell: &str) -> String {
    let mut cell = on_lines(cell);
    if cell.starts_with(['=', '+', '-', '@']) && !is_figure(&cell) {
        cell.insert(0, '\'');
    }
    match cell.contains([',', '"', '\n']) {
        true => format!("\"{}\"", cell.replace('"', "\"\"")),
        false => cell,
    }
}

/// A number, perhaps with a unit behind it; a dash alone.
fn is_figure(cell: &str) -> bool {
    let (number, unit) = cell.split_once(' ').unwrap_or((cell, ""));
    let is_unit = |c: char| c.is_alphabetic() || ['%', '/'].contains(&c);
    cell == "-" || (number.trim_end_matches('%').parse::<f64>().is_ok() && unit.chars().all(is_unit))
}

/// A text that is no markup in a cell of a table.
pub fn in_markdown(text: &str) -> String {
    on_one_line(&text.replace(['\n', '\r'], " ")).replace('|', "\\|").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_stay_in_their_columns() {
        let row = |cells: [&str; 2]| cells.map(str::to_owned).to_vec();
        let table = Table { heads: row(["name", ""]), rows: vec![row(["a|b", "say \"x\", y"]), row(["µ", "2\n3"])] };
        assert_eq!(table.csv(), "name,\na|b,\"say \"\"x\"\", y\"\nµ,\"2\n3\"\n");
        assert_eq!(table.markdown(), "| name |  |\n|---|---|\n| a\\|b | say \"x\", y |\n| µ | 2 3 |\n");
        assert!(table.aligned().starts_with("  name\n  a|b   say"), "{}", table.aligned());
        let harm = Table { heads: row(["x", "y"]), rows: vec![row(["\u{1b}[2J\nVALID", "<b>"])] };
        assert_eq!(harm.aligned(), "  x           y\n  \u{fffd}[2J\u{fffd}VALID  <b>\n");
        assert_eq!(harm.csv(), "x,y\n\"\u{fffd}[2J\nVALID\",<b>\n");
        assert!(harm.markdown().ends_with("| \u{fffd}[2J VALID | &lt;b> |\n"), "{}", harm.markdown());
        for (cell, right) in [
            ("=1+1", "'=1+1"),
            ("@x", "'@x"),
            ("+1+cmd|' /C calc'!A0", "'+1+cmd|' /C calc'!A0"),
            ("-1 +2", "'-1 +2"),
            ("\u{202e}=1", "\u{fffd}=1"),
            ("-1.5", "-1.5"),
            ("+2.0 %", "+2.0 %"),
            ("-3 samples/s", "-3 samples/s"),
            ("-", "-"),
        ] {
            assert_eq!(quoted(cell), right);
        }
        let long = Table { heads: row(["", ""]), rows: vec![row(["a", &"b".repeat(100_000)]), row(["c", ""])] };
        assert_eq!(long.aligned().len(), 2 + 1 + 2 + 100_000 + 1 + 4);
        assert_eq!(Table { heads: row(["", ""]), rows: vec![row(["a", "b"])] }.aligned(), "  a  b\n");
    }
}
