//! Smallest size of a terminal.

/// Columns and rows of the smallest terminal.
const SMALLEST: (u16, u16) = (60, 16);

/// Returns a message for a terminal with so many columns and rows, if it is too small.
pub(super) fn too_small((columns, rows): (u16, u16)) -> Option<String> {
    let (least_columns, least_rows) = SMALLEST;
    let is_small = columns < least_columns || rows < least_rows;
    is_small.then(|| {
        format!("the terminal has {columns} columns and {rows} rows, {least_columns} and {least_rows} are needed")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_is_large_enough_or_is_told_how_large() {
        assert_eq!([(80, 24), SMALLEST, (200, 60)].map(too_small), [None, None, None]);
        let message = "the terminal has 40 columns and 30 rows, 60 and 16 are needed";
        assert_eq!(too_small((40, 30)).as_deref(), Some(message));
        assert!(too_small((80, 10)).is_some());
    }
}
