//! Checks what a nemesis left behind: `nemesis-check FOLDER`. It reads files alone: the nodes' logs, the run folders
//! with their timelines, and how each run and the one after it ended. What is wrong goes to standard output, and the
//! exit code is 1.
//!
//! ```text
//! FOLDER/nodes/NAME.log            what each node said, restarts included
//! FOLDER/runs/NUMBER/run/          the run folder
//! FOLDER/runs/NUMBER/end.json      how it ended, as `lon_tests::nemesis::End`
//! FOLDER/runs/NUMBER/log           what it said
//! FOLDER/left                      processes that were left at the end, one a line
//! ```
#![allow(clippy::print_stdout, clippy::expect_used)]

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use jiff::Timestamp;
use lon_tests::folder_check::FolderCheck;
use lon_tests::nemesis::End;
use serde_json::Value;

/// As long as a run waits for nodes that are busy, and more than any waits for its end.
const A_WHILE: Duration = Duration::from_secs(60);

fn main() -> ExitCode {
    let Some(folder) = std::env::args_os().nth(1).map(PathBuf::from) else {
        println!("give the folder that a nemesis left behind");
        return ExitCode::from(2);
    };
    let logs = logs(&folder.join("nodes"));
    let mut wrong: Vec<String> = logs
        .iter()
        .flat_map(|(name, log)| log.lines().map(move |line| (name, line)))
        .filter(|(_, line)| is_a_panic(line))
        .map(|(name, line)| format!("node {name}: {line}"))
        .collect();
    let runs = entries(&folder.join("runs"));
    let mut ends: BTreeMap<String, u64> = BTreeMap::new();
    for run in &runs {
        let text = std::fs::read_to_string(run.join("end.json")).expect("end.json");
        let end: End = serde_json::from_str(&text).expect("end.json is one");
        *ends.entry(end.code.map_or("signal".to_owned(), |code| code.to_string())).or_default() += 1;
        wrong.extend(faults(run, &end, &logs).into_iter().map(|fault| format!("{}: {fault}", run.display())));
    }
    let leftovers = std::fs::read_to_string(folder.join("left")).expect("left");
    wrong.extend(leftovers.lines().map(|process| format!("left behind: {process}")));
    println!("{} runs, exit codes {ends:?}, {} faults", runs.len(), wrong.len());
    wrong.iter().for_each(|fault| println!("{fault}"));
    ExitCode::from(u8::from(!wrong.is_empty() || runs.is_empty()))
}

/// Returns the faults of a run.
fn faults(run: &Path, end: &End, logs: &BTreeMap<String, String>) -> Vec<String> {
    let folder = run.join("run");
    // A second signal ends the program at once, and the folder goes on saying that the run has not ended.
    let is_ended_at_once = end.told_twice && end.code == Some(5) && !folder.join("mlperf_log_summary.txt").exists();
    let FolderCheck { mut faults, result } = FolderCheck::of(&folder, end.code.filter(|_| !is_ended_at_once));
    let log = std::fs::read_to_string(run.join("log")).expect("log");
    if log.lines().any(is_a_panic) {
        faults.push(format!("a panic: {log}"));
    }
    if end.code != Some(0) && end.code.is_some() && log.trim().is_empty() {
        faults.push("it ended without a word".to_owned());
    }
    if end.next_code != Some(0) {
        faults.push(format!("the nodes were not free afterwards: {}", end.next_log));
    }
    faults.extend(counts_differ(&result, end.pid, logs));
    faults
        .extend(counts_differ(&end.next_result, end.next_pid, logs).into_iter().map(|fault| format!("then: {fault}")));
    faults
}

/// Returns the differences between the nodes' logs of the run of this process and its result.
fn counts_differ(result: &Value, pid: u32, logs: &BTreeMap<String, String>) -> Vec<String> {
    let is_valid = result["result"] == "VALID";
    let Some(when) = run_interval(result) else {
        return if is_valid { vec!["VALID, and the result does not say when it was".to_owned()] } else { Vec::new() };
    };
    let nodes = result["network"]["nodes"].as_array().into_iter().flatten();
    let differs = |node: &Value| {
        let (name, sent) = (node["name"].as_str()?, node["samples"].as_u64()?);
        match received(logs.get(name)?, pid, &when) {
            Some(received) if received > sent || (is_valid && received < sent) => {
                Some(format!("{}, node {name} was sent {sent} samples and received {received}", result["result"]))
            }
            None if is_valid => Some(format!("VALID, and the log of node {name} has no end of the run of pid {pid}")),
            _ => None,
        }
    };
    nodes.filter_map(differs).collect()
}

/// From a while before a run until a while after it: later a process of another run may have its number.
fn run_interval(result: &Value) -> Option<RangeInclusive<Timestamp>> {
    let provenance = &result["made"];
    let started: Timestamp = provenance["started_utc"].as_str()?.parse().ok()?;
    let lasted = Duration::from_nanos(provenance["wall_time_ns"].as_u64()?);
    Some(started.checked_sub(A_WHILE).ok()?..=started.checked_add(lasted + A_WHILE).ok()?)
}

/// The samples that a node received of the process at that time: of its events "ended", if its log has any. A process
/// that waits until all nodes are free claims those that are and lets go of them again, which ends a run without
/// samples.
fn received(log: &str, pid: u32, when: &RangeInclusive<Timestamp>) -> Option<u64> {
    let client = format!("(pid {pid})");
    let events = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let is_ours = |fields: &Value| {
        fields["message"] == "ended" && fields["run"].as_str().is_some_and(|run| run.contains(&client))
    };
    let is_then = |event: &Value| {
        let at = event["timestamp"].as_str().and_then(|at| at.parse::<Timestamp>().ok());
        at.is_some_and(|at| when.contains(&at))
    };
    let ended = events.filter(is_then).map(|event| event["fields"].clone()).filter(is_ours);
    // A run that is ended twice says the same twice.
    let runs: BTreeMap<String, u64> = ended
        .map(|fields| (fields["run"].to_string(), fields["samples_received"].as_u64().unwrap_or_default()))
        .collect();
    (!runs.is_empty()).then(|| runs.values().sum())
}

fn is_a_panic(line: &str) -> bool {
    line.contains("panicked at")
}

fn logs(folder: &Path) -> BTreeMap<String, String> {
    let read = |path: PathBuf| {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        (name, String::from_utf8_lossy(&std::fs::read(path).expect("a log")).into_owned())
    };
    entries(folder).into_iter().map(read).collect()
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths
}
