//! Samples as Parquet: the columns of the CSV form, null where something is not known.

use std::io::{self, Write};

use super::recording::{PARTS, Recording, Sample};
use crate::outputs::tables::parquet::{Cell, Column, Kind, Parquet};

/// Writes all samples.
///
/// # Errors
/// They cannot be read, or `out` cannot be written to.
pub fn write(recording: &mut Recording, out: &mut dyn Write) -> io::Result<()> {
    let mut file = Parquet::begin("samples", columns(recording), out)?;
    let (has_tokens, nodes) = (recording.has_tokens(), recording.nodes().map(<[String]>::to_vec));
    recording.each(|row| file.push(&cells(row, has_tokens, nodes.as_deref())))?;
    file.end()
}

/// Returns the columns of this recording.
fn columns(recording: &Recording) -> Vec<Column> {
    let mut columns = vec![
        Column::always("sample", Kind::Number),
        Column::always("query", Kind::Number),
        Column::new("qsl_idx", Kind::Number),
        Column::always("start_ns", Kind::Number),
        Column::new("latency_ns", Kind::Number),
        Column::always("end", Kind::Text),
    ];
    if recording.has_tokens() {
        columns.extend([Column::new("first_token_ns", Kind::Number), Column::always("tokens", Kind::Number)]);
    }
    if recording.nodes().is_some() {
        columns.push(Column::new("node", Kind::Text));
        columns.extend(PARTS.iter().map(|part| Column::new(&format!("{part}_ns"), Kind::Number)));
    }
    columns
}

/// Most columns of a row.
const COLUMNS: usize = 9 + PARTS.len();

/// The values of a row, in the order of its columns, with what is behind them empty.
fn cells<'a>(row: &Sample, has_tokens: bool, nodes: Option<&'a [String]>) -> [Cell<'a>; COLUMNS] {
    let mut cells = [Cell::Number(None); COLUMNS];
    let number = |number: u64| Cell::Number(Some(number));
    let of_sample = [number(row.sample), number(row.query), Cell::Number(row.qsl_idx), number(row.start_ns)];
    let of_tokens = [Cell::Number(row.first_token_ns), number(row.tokens.into())];
    let of_node = nodes.map(|nodes| {
        let name = row.node.map(|node| nodes[node].as_str());
        let stages = (0..PARTS.len()).map(|part| Cell::Number(row.parts_ns.map(|parts| parts[part])));
        std::iter::once(Cell::Text(name)).chain(stages)
    });
    let all = of_sample.into_iter().chain([Cell::Number(row.latency_ns), Cell::Text(Some(row.end))]);
    let all = all.chain(of_tokens.into_iter().filter(|_| has_tokens)).chain(of_node.into_iter().flatten());
    cells.iter_mut().zip(all).for_each(|(place, cell)| *place = cell);
    cells
}
