//! Performance by model and by machine, as DLI lays it out: a line for each batch size of a model, a column for each
//! mode of a precision on a device.

use lon_shell::dli::row::{Row, rate_text};
use lon_shell::dli::terms::{CPU, Mode, NONE, stated};
use std::collections::{BTreeMap, BTreeSet};

use super::row::CellRow;

/// The heads of the texts of a line.
pub(super) const LINE_HEADS: [&str; 5] = ["Task type", "Topology name", "Framework", "Input blob sizes", "Batch size"];
/// The heads of the texts of a column.
pub(super) const COLUMN_HEADS: [&str; 5] = ["Infrastructure", "Inference Framework", "Device", "Precision", "Mode"];
/// Stands where a test failed.
const FAILED: &str = "-";
/// Devices on which DLI measures latency alone: graphics processors, also by their execution providers.
const LATENCY_ALONE: [&str; 7] = ["GPU", "CUDA", "TENSORRT", "NVTENSORRTRTX", "ROCM", "MIGRAPHX", "WEBGPU"];

/// A line, in the order of lines.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Line {
    task: String,
    topology: String,
    framework: String,
    blobs: String,
    batch: Option<u64>,
}

/// A column, in the order of columns. A test whose mode is not known has a column without one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Column {
    infrastructure: String,
    engine: String,
    device: String,
    precision: String,
    mode: Option<Mode>,
}

/// The runs of a cell of the campaign: FPS of each run, none of those that failed.
#[derive(Clone, Debug, Default, PartialEq)]
struct Runs(Vec<Option<f64>>);

/// The layout of a table: heads of lines and columns, and the texts where they meet.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Pivot {
    /// Texts of each line, by [`LINE_HEADS`].
    pub(super) lines: Vec<[String; 5]>,
    /// Texts of each column, by [`COLUMN_HEADS`].
    pub(super) columns: Vec<[String; 5]>,
    /// Line by line, the tests of each column; empty where there is none.
    pub(super) tests: Vec<Vec<Vec<Test>>>,
}

/// A test where a line and a column meet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Test {
    /// The cell of the campaign.
    pub(super) cell: String,
    /// FPS, or `-` where it failed.
    pub(super) text: String,
}

impl Pivot {
    /// Lays out the rows. Repeats of a cell have their median. Cells that differ in other things than DLI's columns
    /// stand below each other.
    pub(super) fn of(rows: &[CellRow]) -> Pivot {
        let mut places: BTreeMap<(Line, Column), Vec<(String, Runs)>> = BTreeMap::new();
        for CellRow { cell, row } in rows {
            let tests = places.entry(place(row, rows)).or_default();
            let at = tests.iter().position(|(other, _)| other == cell).unwrap_or_else(|| {
                tests.push((cell.clone(), Runs::default()));
                tests.len() - 1
            });
            tests[at].1.0.push(row.measured.fps.filter(|_| row.is_whole));
        }
        let lines: BTreeSet<&Line> = places.keys().map(|(line, _)| line).collect();
        let columns: BTreeSet<Column> = places.keys().flat_map(|(_, column)| column.with_modes()).collect();
        let tests = |line: &Line, column: &Column| -> Vec<Test> {
            let tests = places.get(&(line.clone(), column.clone())).map(Vec::as_slice).unwrap_or_default();
            tests.iter().map(|(cell, runs)| Test { cell: cell.clone(), text: runs.text() }).collect()
        };
        Pivot {
            lines: lines.iter().map(|line| line.heads()).collect(),
            columns: columns.iter().map(Column::heads).collect(),
            tests: lines.iter().map(|line| columns.iter().map(|column| tests(line, column)).collect()).collect(),
        }
    }
}

/// The line and the column of a row. A test that failed does not know its machine, and may not know its model: it
/// stands beside the others where these agree.
fn place(row: &Row, rows: &[CellRow]) -> (Line, Column) {
    let own_or_shared = |of: fn(&Row) -> &String, is_like: &dyn Fn(&Row) -> bool| {
        let own = of(row);
        let texts: BTreeSet<&String> = rows
            .iter()
            .map(|other| &other.row)
            .filter(|row| is_like(row))
            .map(of)
            .filter(|text| *text != NONE)
            .collect();
        let shared = texts.first().filter(|_| texts.len() == 1 && own == NONE);
        shared.map_or_else(|| own.clone(), |shared| (*shared).clone())
    };
    let is_same_model = |other: &Row| other.topology == row.topology && row.topology != NONE;
    let line = Line {
        task: row.task.clone(),
        topology: row.topology.clone(),
        framework: row.framework.clone(),
        blobs: own_or_shared(|row| &row.image_blobs, &is_same_model),
        batch: row.batch,
    };
    let column = Column {
        infrastructure: own_or_shared(|row| &row.infrastructure, &|_| true),
        engine: own_or_shared(|row| &row.engine, &|_| true),
        device: row.device.clone(),
        precision: row.precision.clone(),
        mode: row.mode,
    };
    (line, column)
}

impl Line {
    fn heads(&self) -> [String; 5] {
        let batch = stated(self.batch.map(|batch| batch.to_string()).as_deref());
        [self.task.clone(), self.topology.clone(), self.framework.clone(), self.blobs.clone(), batch]
    }
}

impl Column {
    /// The column, and those that DLI has beside it for the device, whether or not there is a test.
    fn with_modes(&self) -> Vec<Column> {
        let device = self.device.to_ascii_uppercase();
        let usual: &[Mode] = match device.as_str() {
            CPU => &[Mode::Latency, Mode::Throughput],
            device if LATENCY_ALONE.contains(&device) => &[Mode::Latency],
            _ => &[Mode::Throughput],
        };
        let modes = usual.iter().copied().map(Some).chain([self.mode]);
        modes.map(|mode| Column { mode, ..self.clone() }).collect()
    }

    fn heads(&self) -> [String; 5] {
        let mode = stated(self.mode.map(Mode::head));
        [self.infrastructure.clone(), self.engine.clone(), self.device.clone(), self.precision.clone(), mode]
    }
}

impl Runs {
    /// The median of the runs that did not fail.
    fn text(&self) -> String {
        let mut rates: Vec<f64> = self.0.iter().copied().flatten().collect();
        rates.sort_by(f64::total_cmp);
        let middle = rates.len() / 2;
        match (rates.get(middle), middle.checked_sub(1).and_then(|below| rates.get(below))) {
            (None, _) => FAILED.to_owned(),
            (Some(upper), Some(lower)) if rates.len().is_multiple_of(2) => rate_text((lower + upper) / 2.0),
            (Some(rate), _) => rate_text(*rate),
        }
    }
}

/// The groups of neighbours that agree up to a level: where each begins, and its length.
pub(super) fn groups(paths: &[[String; 5]], level: usize) -> Vec<(usize, usize)> {
    let mut groups: Vec<(usize, usize)> = Vec::new();
    for (at, path) in paths.iter().enumerate() {
        match groups.last_mut() {
            Some((begin, length)) if paths[*begin][..=level] == path[..=level] => *length += 1,
            _ => groups.push((at, 1)),
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use lon_shell::dli::row::Measured;

    use super::super::row::example;
    use super::*;

    fn row(cell: &str, batch: u64, mode: Mode, fps: Option<f64>) -> CellRow {
        let measured = Measured { fps, ..Measured::default() };
        let (batch, mode, is_whole) = (Some(batch), Some(mode), fps.is_some());
        CellRow { cell: cell.to_owned(), row: Row { batch, mode, is_whole, measured, ..example().row } }
    }

    fn texts(pivot: &Pivot) -> Vec<Vec<String>> {
        let text = |tests: &Vec<Test>| tests.iter().map(|test| test.text.clone()).collect::<Vec<_>>().join("|");
        pivot.tests.iter().map(|line| line.iter().map(text).collect()).collect()
    }

    /// 10, 30 and 20 have the median 20; 1 and 2 have 1.5; a run that failed counts where all failed.
    #[test]
    fn repeats_have_their_median_and_failed_tests_a_dash() {
        let rows = [
            row("a", 10, Mode::Latency, Some(10.0)),
            row("a", 10, Mode::Latency, Some(30.0)),
            row("a", 10, Mode::Latency, Some(20.0)),
            row("b", 9, Mode::Latency, Some(1.0)),
            row("b", 9, Mode::Latency, Some(2.0)),
            row("b", 9, Mode::Latency, None),
            row("c", 9, Mode::Throughput, None),
        ];
        let pivot = Pivot::of(&rows);
        let batches: Vec<&str> = pivot.lines.iter().map(|line| line[4].as_str()).collect();
        assert_eq!(batches, ["9", "10"], "by number");
        assert_eq!(
            pivot.columns.iter().map(|column| column[4].as_str()).collect::<Vec<_>>(),
            ["Latency Mode", "Throughput Mode"]
        );
        assert_eq!(texts(&pivot), [["1.500", "-"], ["20.000", ""]]);
    }

    #[test]
    fn devices_have_the_modes_of_dli_and_those_that_were_tested() {
        let on = |device: &str, mode| {
            let CellRow { cell, row } = example();
            CellRow { cell, row: Row { device: device.to_owned(), mode, ..row } }
        };
        let rows = [
            on("CUDA", Some(Mode::Latency)),
            on("MYRIAD", Some(Mode::Latency)),
            on("CPU", Some(Mode::Latency)),
            on("N/A", None),
        ];
        let columns = Pivot::of(&rows).columns;
        let heads: Vec<_> = columns.iter().map(|column| [&column[2], &column[4]].map(String::as_str)).collect();
        let right = [
            ["CPU", "Latency Mode"],
            ["CPU", "Throughput Mode"],
            ["CUDA", "Latency Mode"],
            ["MYRIAD", "Latency Mode"],
            ["MYRIAD", "Throughput Mode"],
            ["N/A", "N/A"],
            ["N/A", "Throughput Mode"],
        ];
        assert_eq!(heads, right);
    }

    #[test]
    fn a_failed_test_stands_beside_the_others_where_these_agree() {
        let none = || NONE.to_owned();
        let CellRow { cell, row: own } = row("b", 4, Mode::Latency, None);
        let own = Row { infrastructure: none(), engine: none(), image_blobs: none(), ..own };
        let lost = CellRow { cell, row: own };
        let pivot = Pivot::of(&[row("a", 2, Mode::Latency, Some(8.0)), lost.clone()]);
        assert_eq!((pivot.lines.len(), pivot.columns.len()), (2, 2));
        assert_eq!(texts(&pivot), [["8.000", ""], ["-", ""]]);
        let mut other = row("c", 2, Mode::Latency, Some(9.0));
        other.row.infrastructure = "CPU: AMD".to_owned();
        let pivot = Pivot::of(&[row("a", 2, Mode::Latency, Some(8.0)), lost, other]);
        assert_eq!(pivot.columns.iter().filter(|column| column[0] == NONE).count(), 2, "these do not agree");
    }

    #[test]
    fn cells_that_dli_has_no_column_for_stand_below_each_other() {
        let pivot = Pivot::of(&[
            row("transport=grpc", 2, Mode::Latency, Some(8.0)),
            row("transport=tcp", 2, Mode::Latency, Some(9.0)),
        ]);
        assert_eq!(texts(&pivot), [["8.000|9.000", ""]]);
        assert_eq!(pivot.tests[0][0][1].cell, "transport=tcp");
    }

    #[test]
    fn neighbours_are_grouped_level_by_level() {
        let path = |path: [&str; 5]| path.map(str::to_owned);
        let paths = [path(["a", "x", "", "", ""]), path(["a", "y", "", "", ""]), path(["b", "y", "", "", ""])];
        assert_eq!(groups(&paths, 0), [(0, 2), (2, 1)]);
        assert_eq!(groups(&paths, 1), [(0, 1), (1, 1), (2, 1)]);
        assert_eq!(groups(&[], 0), []);
    }
}
