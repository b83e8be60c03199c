//! The table of ARCHITECTURE.md: crates, their rooms, and what they may use.

/// A line of the table.
pub(crate) struct Row {
    pub(crate) folders: Vec<String>,
    /// The rooms, floor by floor from the top down.
    pub(crate) floors: Vec<Vec<String>>,
    /// Words of the last column, names of crates among them. The word `all` stands for all of them.
    pub(crate) uses: Vec<String>,
}

/// The lines of the table on the page.
pub(crate) fn rows(page: &str) -> Vec<Row> {
    let words = |cell: &str| -> Vec<String> {
        let is_part = |c: char| c.is_alphanumeric() || "_-/".contains(c);
        cell.split(|c| !is_part(c)).filter(|word| !word.is_empty()).map(str::to_owned).collect()
    };
    let row = |line: &str| {
        let cells: Vec<&str> = line.split('|').collect();
        let [_, folders, _, rooms, uses, _] = cells[..] else { return None };
        let folders = folders.split('`').skip(1).step_by(2).map(str::to_owned).collect();
        Some(Row { folders, floors: rooms.split('>').map(words).collect(), uses: words(uses) })
    };
    page.lines().filter(|line| line.starts_with("| `")).filter_map(row).collect()
}
