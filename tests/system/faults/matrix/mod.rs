//! Faults of one table, in every scenario, mode and transport in which they can happen, with real processes.
//! docs/guide/troubleshooting.md has the same table in words.
//!
//! - `table`: the faults, and how a run must end that meets them;
//! - `cell`: a fault in one scenario, mode and transport;
//! - `scene`: the nodes, what lies between, and the run;
//! - `mix`: tenants of a mix, and how each must end;
//! - `numbers`: how soon a run ends that has lost a node.
//!
//! `LON_MATRIX=TEXT` runs the cells whose names have TEXT in them.

mod cell;
mod mix;
mod numbers;
mod scene;
mod table;

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Instant;

use self::cell::Cell;
use self::scene::{Outcome, Scene};
use self::table::{FAULTS, Files};

/// Cells at a time: most of a cell's time is waiting.
const AT_ONCE: usize = 14;

/// Result of a cell.
struct Line {
    text: String,
    faults: Vec<String>,
}

fn cells() -> Vec<Cell> {
    FAULTS.iter().enumerate().flat_map(|(number, fault)| Cell::of(fault, number)).collect()
}

/// One cell; what is wrong with it.
fn judge(cell: &Cell) -> Line {
    let began = Instant::now();
    let mut scene = Scene::set(cell);
    let Outcome { check, finished, has_folder, lasted } = scene.run(cell);
    let mut faults = check.faults.clone();
    let expected = &cell.fault.expect;
    let output = format!("{}\n{}\n{}", check.verdict_text(), finished.stdout, finished.stderr);
    let mut fault = |is_fault: bool, text: String| {
        if is_fault {
            faults.push(text);
        }
    };
    fault(!cell.may_end_with(finished.code), format!("exit code {:?}: {output}", finished.code));
    if finished.code != Some(0) {
        for part in expected.says {
            fault(!output.contains(part), format!("nobody says '{part}': {output}"));
        }
    }
    if finished.code == Some(0) {
        for part in expected.marks {
            fault(!output.contains(part), format!("nothing is marked '{part}': {output}"));
        }
    }
    // Of a mix, one tenant may have lost the node whose stall another one reports: `mix` looks at each by itself.
    let silent = cell.tenants().is_empty()
        && output.lines().any(|line| line.contains("SUT node b,") && line.contains("allowed (--max-lag)"));
    fault(silent && output.contains("node b was lost"), format!("its loss is told as a stall, too: {output}"));
    fault(has_folder && expected.files == Files::None, "a run that never began left a folder".to_owned());
    fault(!has_folder && expected.files == Files::Folder, "there is no run folder".to_owned());
    fault(output.contains("panicked at"), format!("a panic: {output}"));
    if let Some(threads) = finished.slow.as_ref().filter(|_| lasted > expected.within) {
        println!("{cell} took {lasted:.1?}; its threads after 30 s:\n{threads}{output}");
    }
    let within = expected.within * cell.patience();
    fault(lasted > within, format!("ended after {lasted:.1?}, {within:?} allowed: {output}"));
    faults.extend(scene.leave());
    let verdict = if check.verdict_word().is_empty() { "no result" } else { check.verdict_word() };
    let code = finished.code.map_or("signal".to_owned(), |code| code.to_string());
    let seconds = began.elapsed().as_secs_f64();
    Line { text: format!("{cell} {verdict:<9} {code:>6} {:>6.1} {seconds:>6.1}", lasted.as_secs_f64()), faults }
}

/// Runs all cells, some at a time, and prints the table.
fn assert_all(cells: &[Cell]) {
    let next = AtomicUsize::new(0);
    let lines = Mutex::new(Vec::new());
    let began = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(cell) = cells.get(next.fetch_add(1, Relaxed)) {
                    let judged = std::panic::catch_unwind(|| judge(cell));
                    let line = judged.unwrap_or_else(|panic| {
                        let text = panic.downcast_ref::<String>().cloned().unwrap_or_default();
                        Line { text: format!("{cell} {:<9}", "broken"), faults: vec![text] }
                    });
                    lines.lock().unwrap().push(line);
                }
            });
        }
    });
    let mut lines = lines.into_inner().unwrap();
    lines.sort_by(|one, other| one.text.cmp(&other.text));
    let columns = ["fault", "scenario", "mode", "route", "verdict", "exit", "end s", "all s"];
    let [fault, scenario, mode, route, verdict, exit, end, all] = columns;
    println!("{fault:<40} {scenario:<12} {mode:<19} {route:<7} {verdict:<9} {exit:>6} {end:>6} {all:>6}");
    lines.iter().for_each(|line| println!("{}{}", line.text, if line.faults.is_empty() { "" } else { "  WRONG" }));
    println!("{} cells in {:.0?}", lines.len(), began.elapsed());
    let wrong: Vec<&Line> = lines.iter().filter(|line| !line.faults.is_empty()).collect();
    let report: Vec<String> =
        wrong.iter().map(|line| format!("{}\n    {}", line.text, line.faults.join("\n    "))).collect();
    assert!(wrong.is_empty(), "{} cells of {} are wrong:\n{}", wrong.len(), lines.len(), report.join("\n"));
}

#[test]
#[ignore = ".ci/run matrix"]
fn every_cell() {
    let pattern = std::env::var("LON_MATRIX").unwrap_or_default();
    let cells: Vec<Cell> = cells().into_iter().filter(|cell| cell.to_string().contains(&pattern)).collect();
    assert!(!cells.is_empty(), "no cell is called '{pattern}'");
    assert_all(&cells);
}

#[test]
fn there_are_200_cells_and_they_are_all_different() {
    let names: std::collections::BTreeSet<String> = cells().iter().map(Cell::to_string).collect();
    assert!(names.len() >= 200 && names.len() == cells().len(), "{} of {}", names.len(), cells().len());
}
