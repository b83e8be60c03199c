//! Output of `loadgen-node export` for a run.

use std::path::Path;

use crate::process::{LoadGen, SutNode};
use crate::run_folder::RunFolder;
use crate::test_run::TestRun;

/// A table of CSV whose cells have no quotes.
pub struct Csv {
    /// Heads of the columns.
    pub heads: Vec<String>,
    /// The cells, row by row.
    pub rows: Vec<Vec<String>>,
}

impl Csv {
    /// Reads a table.
    pub fn read(text: &str) -> Csv {
        let mut lines = text.lines().map(|line| line.split(',').map(str::to_owned).collect());
        Csv { heads: lines.next().unwrap(), rows: lines.collect() }
    }

    /// A column; what is empty is left out.
    pub fn numbers(&self, head: &str) -> Vec<u64> {
        self.texts(head).filter(|cell| !cell.is_empty()).map(|cell| cell.parse().unwrap()).collect()
    }

    /// A column.
    pub fn texts(&self, head: &str) -> impl Iterator<Item = &str> {
        let at = self.heads.iter().position(|own| own == head).unwrap_or_else(|| panic!("no column {head}"));
        self.rows.iter().map(move |row| row[at].as_str())
    }
}

/// The samples of a run, as they are printed.
pub fn exported(folder: &Path) -> Csv {
    let printed = LoadGen::run(&["export", folder.to_str().unwrap()]);
    assert_eq!(printed.code, Some(0), "{printed:?}");
    Csv::read(&printed.stdout)
}

/// A run of a scenario with stages recorded, and its samples. It has two nodes, one of which answers after 3 ms.
pub fn recorded(scenario: &str, set: &str) -> (RunFolder, Csv) {
    let slow = SutNode::start("slow", "synthetic:constant=3ms", &[]);
    let quick = SutNode::start("quick", "null", &[]);
    let sut = format!("{},{}", slow.address, quick.address);
    let test = TestRun::new(scenario).on(&sut).args(&["--record-stages", "--mixed-nodes"]);
    let (finished, folder) = test.set(set).finish();
    assert!(matches!(finished.code, Some(0 | 3)), "{finished:?}");
    folder.assert_complete();
    let table = exported(&folder.path);
    (folder, table)
}
