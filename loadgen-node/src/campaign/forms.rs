//! The table as text, CSV, Markdown and Parquet.

use std::io::{self, Write};
use std::path::Path;

use crate::comparison::Unit;
use lon_run::outputs::documents::campaign_table::{CampaignTable, TableColumn, TableRow, TableScore};
use lon_run::outputs::documents::repeats::RepeatSpread;
use lon_run::outputs::report;
use lon_run::outputs::tables::parquet::{Cell, Column, Kind, Parquet};
use lon_run::outputs::tables::table::{Table, in_markdown};

/// Head of the column with the names of cells.
const CELL: &str = "cell";
/// Stands where there is no value.
const NONE: &str = "-";
/// The longest reason that a line of the table has, in letters.
const REASON: usize = 100;

/// The table for people, with a line below for each cell that has reasons.
pub(crate) fn text(table: &CampaignTable) -> String {
    let mut text = plain(table).aligned();
    for row in table.rows.iter().filter(|row| !row.reasons.is_empty()) {
        for reason in &row.reasons {
            text.push_str(&format!("{}: {}\n", row.cell, lon_proto::text::on_one_line(&short(reason))));
        }
    }
    text + "Unverified: no official MLPerf results.\n"
}

/// The axes, the verdict and the quantities as people read them.
fn plain(table: &CampaignTable) -> Table {
    let has_scores = has_scores(table);
    let axes = if table.axes.is_empty() { vec![CELL.to_owned()] } else { table.axes.clone() };
    let quantities = table.columns.iter().map(|column| column.name.clone());
    let score = has_scores.then(|| "accuracy run".to_owned());
    let heads = axes.into_iter().chain(["verdict".to_owned()]).chain(score).chain(quantities).collect();
    let row = |row: &TableRow| {
        let mut cells: Vec<String> = axis_values(table, row);
        cells.push(row.verdict.clone());
        if has_scores {
            cells.push(row.accuracy.as_ref().map_or_else(|| NONE.to_owned(), score_text));
        }
        cells.extend(table.columns.iter().map(|column| quantity_text(row.quantity(&column.name))));
        cells
    };
    Table { heads, rows: table.rows.iter().map(row).collect() }
}

/// The values of the axes, in order; the name of the cell where nothing varies.
pub(super) fn axis_values(table: &CampaignTable, row: &TableRow) -> Vec<String> {
    if table.axes.is_empty() {
        return vec![row.cell.clone()];
    }
    table.axes.iter().map(|axis| value(row, axis).unwrap_or(NONE).to_owned()).collect()
}

/// The value of an axis in a row.
pub(super) fn value<'a>(row: &'a TableRow, axis: &str) -> Option<&'a str> {
    row.values.iter().find(|(key, _)| key == axis).map(|(_, value)| value.as_str())
}

pub(super) fn has_scores(table: &CampaignTable) -> bool {
    table.rows.iter().any(|row| row.accuracy.is_some())
}

pub(super) fn score_text(score: &TableScore) -> String {
    let unit = if score.unit == "%" { " %" } else { "" };
    format!("{:.3}{unit}, {}", score.value, if score.passed { "reached" } else { "missed" })
}

/// The median with its unit, and how far the repeats are apart.
pub(super) fn quantity_text(quantity: Option<&RepeatSpread>) -> String {
    let Some(quantity) = quantity else { return NONE.to_owned() };
    let text = Unit::named(&quantity.unit).text(quantity.median);
    let repeats = quantity.values.iter().flatten().count();
    match quantity.spread_percent.filter(|_| repeats > 1) {
        Some(percent) => format!("{text} (spread {percent:.1} %)"),
        None => text,
    }
}

fn short(reason: &str) -> String {
    match reason.char_indices().nth(REASON) {
        Some((end, _)) => format!("{}...", &reason[..end]),
        None => reason.to_owned(),
    }
}

/// The table as Markdown, with links to the reports of the runs from a file in the folder of the campaign.
pub(crate) fn markdown(table: &CampaignTable, out: &Path) -> String {
    let mut plain_table = plain(table);
    plain_table.heads.push("runs".to_owned());
    let links = table.rows.iter().map(|row| reports(row, out).iter().map(|it| it.link()).collect::<Vec<_>>().join(" "));
    // Links are markup, and put behind the cells that are none.
    let mut links = links;
    let markdown = table_with(&plain_table, &mut links);
    format!("{markdown}\nUnverified: no official MLPerf results.\n")
}

/// A table as Markdown whose last column is markup.
fn table_with(table: &Table, last: &mut dyn Iterator<Item = String>) -> String {
    let line = |cells: &[String], end: &str| {
        let cells: Vec<String> = cells.iter().map(|cell| in_markdown(cell)).collect();
        format!("| {} | {end} |\n", cells.join(" | "))
    };
    let (head, heads) = table.heads.split_last().map_or(("", &[][..]), |(last, others)| (last.as_str(), others));
    let mut text = line(heads, head);
    text.push_str(&format!("|{}\n", "---|".repeat(table.heads.len())));
    text.extend(table.rows.iter().map(|row| line(row, &last.next().unwrap_or_default())));
    text
}

/// A run with a report.
pub(super) struct Report {
    /// The number of the repeat, or `accuracy`.
    pub(super) name: String,
    /// The page, or the result where there is no page; from the folder of the campaign.
    pub(super) path: String,
}

impl Report {
    fn link(&self) -> String {
        format!("[{}]({})", in_markdown(&self.name), self.path)
    }
}

/// The reports of the runs of a row.
pub(super) fn reports(row: &TableRow, out: &Path) -> Vec<Report> {
    let folders = row.accuracy.iter().map(|score| &score.folder).chain(&row.folders);
    folders
        .map(|folder| {
            let name = folder.rsplit('/').next().unwrap_or(folder).to_owned();
            let page = format!("{folder}/{}", report::FILE);
            let path = if out.join(&page).is_file() { page } else { format!("{folder}/result.txt") };
            Report { name, path }
        })
        .collect()
}

/// The table as CSV: a number in each column, and nothing left out.
pub(crate) fn csv(table: &CampaignTable) -> String {
    let mut heads = vec![CELL.to_owned()];
    heads.extend(table.axes.iter().cloned());
    heads.extend(["verdict", "accuracy", "accuracy_passed", "planned", "runs"].map(str::to_owned));
    for column in &table.columns {
        heads.extend(numbers(column));
    }
    heads.extend(["reasons", "folders"].map(str::to_owned));
    let row = |row: &TableRow| {
        let number = |number: Option<f64>| number.map_or_else(String::new, |number| number.to_string());
        let mut cells = vec![row.cell.clone()];
        cells.extend(table.axes.iter().map(|axis| value(row, axis).unwrap_or_default().to_owned()));
        cells.push(row.verdict.clone());
        cells.push(number(row.accuracy.as_ref().map(|score| score.value)));
        cells.push(row.accuracy.as_ref().map_or_else(String::new, |score| score.passed.to_string()));
        cells.extend([row.planned.to_string(), row.folders.len().to_string()]);
        for column in &table.columns {
            let quantity = row.quantity(&column.name);
            cells.push(number(quantity.map(|quantity| quantity.median)));
            cells.push(number(quantity.and_then(|quantity| quantity.spread_percent)));
        }
        cells.extend([row.reasons.join("; "), row.folders.join(" ")]);
        cells
    };
    Table { heads, rows: table.rows.iter().map(row).collect() }.csv()
}

/// Writes axes, verdict, score and quantities as Parquet, null where something is not known.
///
/// # Errors
/// `out` cannot be written to.
pub(crate) fn parquet(table: &CampaignTable, out: &mut dyn Write) -> io::Result<()> {
    let mut columns = vec![Column::always(CELL, Kind::Text)];
    columns.extend(table.axes.iter().map(|axis| Column::new(axis, Kind::Text)));
    columns.extend([Column::always("verdict", Kind::Text), Column::new("accuracy", Kind::Real)]);
    columns.extend(["planned", "runs"].map(|name| Column::always(name, Kind::Number)));
    for column in &table.columns {
        columns.extend(numbers(column).iter().map(|name| Column::new(name, Kind::Real)));
    }
    let mut file = Parquet::begin("cells", columns, out)?;
    for row in &table.rows {
        let mut cells = vec![Cell::Text(Some(&row.cell))];
        cells.extend(table.axes.iter().map(|axis| Cell::Text(value(row, axis))));
        cells.push(Cell::Text(Some(&row.verdict)));
        cells.push(Cell::Real(row.accuracy.as_ref().map(|score| score.value)));
        cells.extend([row.planned, row.folders.len()].map(|count| Cell::Number(Some(count as u64))));
        for column in &table.columns {
            let quantity = row.quantity(&column.name);
            cells.push(Cell::Real(quantity.map(|quantity| quantity.median)));
            cells.push(Cell::Real(quantity.and_then(|quantity| quantity.spread_percent)));
        }
        file.push(&cells)?;
    }
    file.end()
}

/// The names of a quantity's columns: its median with the unit, and how far repeats are apart.
fn numbers(column: &TableColumn) -> [String; 2] {
    let unit = match column.unit.as_str() {
        "" => String::new(),
        unit => format!("_{}", unit.replace("1/s", "per_s").replace("bit/s", "bit_s")),
    };
    [format!("{}{unit}", column.name), format!("{}_spread_percent", column.name)]
}

/// A table of two cells, one of them with a score and a spread.
#[cfg(test)]
pub(super) fn example() -> CampaignTable {
    let quantity = |name: &str, unit: &str, values: &[f64]| {
        RepeatSpread::of(name, unit, values.iter().copied().map(Some).collect()).unwrap()
    };
    let row = |transport: &str, qps: &str, rates: &[f64], p99: &[f64]| TableRow {
        cell: format!("transport={transport}+target_qps={qps}"),
        values: vec![
            ("transport".to_owned(), transport.to_owned()),
            ("settings.target_qps".to_owned(), qps.to_owned()),
        ],
        verdict: "VALID".to_owned(),
        reasons: Vec::new(),
        planned: rates.len(),
        folders: (1..=rates.len()).map(|number| format!("transport={transport}+target_qps={qps}/{number}")).collect(),
        accuracy: None,
        quantities: vec![quantity("metric_rate", "1/s", rates), quantity("p99", "ns", p99)],
    };
    let column = |name: &str, about: &str, unit: &str| TableColumn {
        name: name.to_owned(),
        about: about.to_owned(),
        unit: unit.to_owned(),
    };
    let mut rows = vec![
        row("grpc", "100", &[96.0, 100.0, 104.0], &[2e6, 2e6, 3e6]),
        row("grpc", "200", &[200.0; 3], &[4e6; 3]),
        row("tcp", "100", &[101.0], &[1e6]),
        row("tcp", "200", &[202.0], &[1.5e6]),
    ];
    rows[0].accuracy = Some(TableScore {
        folder: "transport=grpc+target_qps=100/accuracy".to_owned(),
        metric: "top1".to_owned(),
        value: 99.5,
        unit: "%".to_owned(),
        passed: true,
    });
    let last = &mut rows[3];
    (last.verdict, last.reasons) = ("failed".to_owned(), vec!["a node is gone".to_owned()]);
    last.quantities.clear();
    last.folders.clear();
    CampaignTable {
        schema: 1,
        axes: vec!["transport".to_owned(), "settings.target_qps".to_owned()],
        columns: vec![
            column("metric_rate", "metric, by LoadGen's formula", "1/s"),
            column("p99", "latency, p99", "ns"),
        ],
        rows,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_has_the_same_rows() {
        let table = example();
        let text = text(&table);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 1 + 4 + 1 + 1, "{text}");
        assert!(
            lines[1].contains("VALID    99.500 %, reached  100.00/s (spread 8.0 %)  2.0ms (spread 50.0 %)"),
            "{text}"
        );
        assert_eq!(lines[5], "transport=tcp+target_qps=200: a node is gone");
        let csv = csv(&table);
        assert!(
            csv.starts_with("cell,transport,settings.target_qps,verdict,accuracy,accuracy_passed,planned,runs,"),
            "{csv}"
        );
        let first = "transport=grpc+target_qps=100,grpc,100,VALID,99.5,true,3,3,100,8,2000000,50,,";
        assert!(csv.lines().nth(1).unwrap().starts_with(first), "{csv}");
        assert!(csv.lines().last().unwrap().ends_with(",failed,,,1,0,,,,,a node is gone,"), "{csv}");
        let mut file = Vec::new();
        parquet(&table, &mut file).unwrap();
        assert!(file.starts_with(b"PAR1") && file.ends_with(b"PAR1") && file.len() > 1000, "{}", file.len());
        let markdown = markdown(&table, Path::new("/none"));
        assert!(
            markdown.contains(
                "| tcp | 100 | VALID | - | 101.00/s | 1.0ms | [1](transport=tcp+target_qps=100/1/result.txt) |"
            ),
            "{markdown}"
        );
    }
}
