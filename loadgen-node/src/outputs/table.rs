//! Tables that commands print: aligned for people, CSV for other programs, Markdown for pages of text.

use std::fmt::Write as _;

/// A table of texts. Rows are as long as the heads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Table {
    pub(crate) heads: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
}

impl Table {
    /// Of these heads, without rows.
    pub(crate) fn new<const N: usize>(heads: [&str; N]) -> Table {
        Table { heads: heads.map(str::to_owned).to_vec(), rows: Vec::new() }
    }

    /// With one more row.
    pub(crate) fn row<const N: usize>(&mut self, cells: [&str; N]) {
        self.rows.push(cells.map(str::to_owned).to_vec());
    }

    /// Each column as wide as its widest cell. Heads that are all empty are left out.
    pub(crate) fn aligned(&self) -> String {
        let has_heads = self.heads.iter().any(|head| !head.is_empty());
        let rows = || self.rows.iter().chain(has_heads.then_some(&self.heads));
        let width = |at: usize| rows().filter_map(|row| row.get(at)).map(|cell| cell.chars().count()).max();
        let widths: Vec<usize> = (0..self.heads.len()).map(|at| width(at).unwrap_or_default()).collect();
        let mut text = String::new();
        for row in has_heads.then_some(&self.heads).into_iter().chain(&self.rows) {
            let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
            let line = cells.collect::<Vec<_>>().join("  ");
            // Writing to a String cannot fail.
            let _ = writeln!(text, "  {}", line.trim_end());
        }
        text
    }

    /// A line of heads, then a line for each row, as RFC 4180 has it, but with line ends of one character.
    pub(crate) fn csv(&self) -> String {
        let line = |cells: &Vec<String>| cells.iter().map(|cell| quoted(cell)).collect::<Vec<_>>().join(",") + "\n";
        std::iter::once(&self.heads).chain(&self.rows).map(line).collect()
    }

    /// As GitHub's Markdown has tables.
    pub(crate) fn markdown(&self) -> String {
        let line = |cells: &Vec<String>| {
            format!("| {} |\n", cells.iter().map(|cell| in_markdown(cell)).collect::<Vec<_>>().join(" | "))
        };
        let rows: String = self.rows.iter().map(line).collect();
        format!("{}|{}\n{rows}", line(&self.heads), "---|".repeat(self.heads.len()))
    }
}

/// A cell of CSV: in quotes where it has to be.
pub(crate) fn quoted(cell: &str) -> String {
    match cell.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", cell.replace('"', "\"\"")),
        false => cell.to_owned(),
    }
}

/// A text that is no markup in a cell of a table.
pub(crate) fn in_markdown(text: &str) -> String {
    text.replace('|', "\\|").replace(['\n', '\r'], " ")
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
        assert_eq!(Table { heads: row(["", ""]), rows: vec![row(["a", "b"])] }.aligned(), "  a  b\n");
    }
}
