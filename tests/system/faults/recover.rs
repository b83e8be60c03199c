//! Runs whose LoadGen node is killed: what had been measured is in the folder, and `recover` makes a result of it.

use std::fs;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use lon_tests::peer::{Behaviour, Peer, Script, answer_once};
use lon_tests::process::{LoadGen, SutNode};
use lon_tests::run_folder::{RunFolder, assert_sums};
use lon_tests::test_run::TestRun;
use nix::sys::signal::Signal;

/// Answers that a run has before it is killed.
const ANSWERED: u64 = 300;

/// Longest time on a busy machine for what takes a second at most on an idle one.
const PATIENCE: Duration = Duration::from_secs(300);

fn path(folder: &RunFolder) -> &Path {
    Path::new(folder.arg())
}

fn recover(folder: &RunFolder) -> lon_tests::process::Finished {
    LoadGen::run(&["recover", folder.arg()])
}

/// Begins a run, refuses to recover it meanwhile, and kills it when so many of its answers are in this file.
fn killed(run: TestRun, answered: u64, file: &str) -> RunFolder {
    let (loadgen, folder) = run.begin_until_answered(answered);
    folder.wait_until_written(file);
    let early = recover(&folder);
    let reasons = &folder.result()["reasons"];
    assert!(early.code == Some(2) && early.stderr.contains("goes on"), "{early:?}, {reasons}");
    loadgen.signal(Signal::SIGKILL);
    loadgen.finish();
    assert!(folder.result()["reasons"][0].as_str().unwrap().contains("loadgen-node recover"));
    folder
}

#[test]
fn what_was_measured_is_there_after_a_kill() {
    for (scenario, settings) in [
        ("Server", "target_qps=500,min_duration=600s,min_query_count=1"),
        ("SingleStream", "min_duration=600s,target_latency=0.02"),
        ("MultiStream", "min_duration=600s,samples_per_query=3,target_latency=0.02"),
        ("Offline", "target_qps=400000,min_duration=60000,min_query_count=1"),
    ] {
        let node = SutNode::start("a", "null", &[]);
        let run = TestRun::new(scenario).on(&node.address).set(settings).args(&["--anyway"]);
        // As many queries as early stopping takes to estimate by others than the one without an answer.
        let answered = if scenario == "MultiStream" { 3_000 } else { ANSWERED };
        let folder = killed(run, answered, "timeline.bin");
        let recovery = recover(&folder);
        assert_eq!(recovery.code, Some(0), "{scenario}: {recovery:?}");
        assert!(
            recovery.stdout.starts_with("Result    INVALID") && recovery.stdout.contains("was killed"),
            "{recovery:?}"
        );
        let result = folder.result();
        let completed = result["counts"]["completed"].as_u64().unwrap();
        assert!(completed >= answered, "{scenario}: {completed}");
        let (min, metric) = (&result["latency_ns"]["min"], &result["metric"]["value"]);
        assert!(min.as_i64().unwrap() > 0 && metric.as_f64().is_some(), "{scenario}: {min}, {metric}: {result}");
        assert_eq!((&result["result"], &result["official_result"]), (&"INVALID".into(), &"INVALID".into()));
        // A sample that was never answered has no latency.
        let lacks = completed < result["counts"]["issued"].as_u64().unwrap();
        assert_eq!((result["latency_ns"]["max"].is_null(), recovery.stdout.contains("max no answer")), (lacks, lacks));
        // A figure that the folder does not have is unknown, and is not 0.
        assert!(result["schedule_lag_ns"].is_null() && result["saturation"].is_null(), "{result}");
        // The limit stands beside the latency, as it does in a run that was not killed.
        let limits = result["latency_limits"].as_array().unwrap();
        assert_eq!(!limits.is_empty(), scenario == "Server", "{result}");
        assert_eq!(recovery.stdout.contains("\nLimit     latency p99 "), scenario == "Server", "{recovery:?}");
        assert!(folder.texts().iter().all(|text| !text.contains("Result is : VALID")), "{scenario}");
        assert_sums(path(&folder));
        let names: Vec<_> = fs::read_dir(path(&folder)).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert!(names.iter().all(|name| !name.to_string_lossy().ends_with(".part")), "{names:?}");
        let timeline = path(&folder).join("timeline.bin");
        let replayed = LoadGen::run(&["replay", "--timeline", timeline.to_str().unwrap()]);
        assert_eq!(replayed.code, Some(5), "as a run that was interrupted: {replayed:?}");
        let of_folder = LoadGen::run(&["replay", "--timeline", folder.arg()]);
        assert_eq!((of_folder.code, &of_folder.stdout), (Some(5), &replayed.stdout), "{of_folder:?}");
        let again = recover(&folder);
        assert!(again.code == Some(2) && again.stderr.contains("has ended"), "{again:?}");
    }
}

#[test]
fn a_second_signal_later_ends_a_run_at_once_and_loses_nothing_measured() {
    // It owes the rest of the answers, which the end of the run waits for.
    let script: Script = |number, id| if number < ANSWERED { answer_once(number, id) } else { Vec::new() };
    let peer = Peer::start(Behaviour { script, ..Behaviour::good("a") });
    let settings = "target_qps=500,min_duration=600s,min_query_count=1";
    let run = TestRun::new("Server").on(&peer.address.to_string()).set(settings).args(&["--anyway"]);
    let (mut loadgen, folder) = run.begin_until_answered(ANSWERED);
    folder.wait_until_written("timeline.bin");
    loadgen.signal(Signal::SIGINT);
    loadgen.wait_for_log("interrupted: waits for answers to what is under way grace=10.0s");
    // Signals within a second of the first are one with it: one of these comes later.
    let start = Instant::now();
    while !loadgen.has_ended() {
        assert!(start.elapsed() < PATIENCE, "it goes on");
        loadgen.signal(Signal::SIGINT);
        sleep(Duration::from_millis(300));
    }
    let finished = loadgen.finish();
    assert_eq!(finished.code, Some(5), "{finished:?}");
    for message in
        ["interrupted: waits for answers to what is under way grace=10.0s", "interrupted once more: ended at once"]
    {
        assert!(finished.stderr.contains(message), "{message}: {finished:?}");
    }
    assert!(folder.result()["reasons"][0].as_str().unwrap().contains("loadgen-node recover"), "{:?}", folder.result());
    let recovery = recover(&folder);
    assert!(recovery.code == Some(0) && recovery.stdout.starts_with("Result    INVALID"), "{recovery:?}");
    assert!(folder.result()["counts"]["completed"].as_u64().unwrap() >= ANSWERED, "{:?}", folder.result());
}

#[test]
fn answers_are_there_after_a_kill() {
    // A class each.
    let slow = "synthetic:constant=1s,output=1";
    let node = SutNode::start("a", slow, &[]);
    let run = TestRun::digits("Offline").on(&node.address).args(&["--mode", "AccuracyOnly"]);
    let folder = killed(run, 16, "mlperf_log_accuracy.json");
    assert_eq!(recover(&folder).code, Some(0));
    let log = fs::read_to_string(path(&folder).join("mlperf_log_accuracy.json")).unwrap();
    let entries: Vec<serde_json::Value> = serde_json::from_str(&log).unwrap();
    assert!(entries.len() > 10, "{}", entries.len());
    let show = LoadGen::run(&["show", folder.arg()]);
    assert!(show.code == Some(0) && show.stdout.contains("INVALID"), "{show:?}");
}

#[test]
fn what_is_no_broken_run_is_named() {
    let empty = tempfile::tempdir().unwrap();
    let finished = LoadGen::run(&["recover", empty.path().to_str().unwrap()]);
    assert!(finished.code == Some(2) && finished.stderr.contains("is not a run folder"), "{finished:?}");
}

/// The trials that had ended need not be run again.
#[test]
fn a_search_that_was_killed_goes_on_with_its_trials() {
    let node = SutNode::start("a", "null", &[]);
    let search = || {
        let run =
            TestRun::new("Server").patient().on(&node.address).args(&["--mode", "FindPeakPerformance", "--anyway"]);
        run.set("target_qps=200,min_duration=300ms,min_query_count=1")
    };
    let (loadgen, folder) = search().begin();
    let record = path(&folder).join("find_peak.json");
    let deadline = Instant::now() + PATIENCE;
    while !record.exists() {
        assert!(Instant::now() < deadline, "no trial ended");
        sleep(Duration::from_millis(50));
    }
    loadgen.signal(Signal::SIGKILL);
    loadgen.finish();
    let recovery = recover(&folder);
    assert_eq!(recovery.code, Some(0), "{recovery:?}");
    let result = folder.result();
    assert!(result["result"] == "INVALID" && result["files"].get("find_peak.json").is_some(), "{result}");
    assert_sums(path(&folder));
    let trials = |record: &Path| {
        let text = fs::read_to_string(record).unwrap();
        serde_json::from_str::<serde_json::Value>(&text).unwrap()["trials"].as_array().unwrap().clone()
    };
    let before = trials(&record);
    // The result and the screen show the record of the trials.
    assert_eq!(result["find_peak"]["trials"].as_array(), Some(&before), "{result}");
    assert_eq!(result["find_peak"]["end"], "stopped");
    let passed = before.iter().filter(|trial| trial["passed"] == true).filter_map(|trial| trial["load"].as_f64());
    assert_eq!(result["find_peak"]["bracket"]["low"].as_f64(), passed.reduce(f64::max), "{result}");
    let show = LoadGen::run(&["show", folder.arg()]);
    for finished in [&recovery, &show] {
        assert!(
            finished.stdout.contains("\nPeak      target_qps ")
                && finished.stdout.contains("\n          200: keeps the limit"),
            "{finished:?}"
        );
        assert!(finished.stdout.contains(&format!("--find-peak-resume {}", record.display())), "{finished:?}");
    }
    let (_, again) = search()
        .args(&["--wait-ready", "600s", "--find-peak-resume", record.to_str().unwrap(), "--find-peak-max-trials", "1"])
        .finish();
    let after = trials(&path(&again).join("find_peak.json"));
    assert!(!before.is_empty() && after.len() > before.len(), "{before:?} {after:?}");
    // Trials count for a search that asks the same; what does not is named.
    let other = search().set("server_find_peak_qps_boundary_step_size=0.5").args(&["--find-peak-resume"]);
    let (refused, nothing) = other.args(&[record.to_str().unwrap()]).finish();
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("server_find_peak_qps_boundary_step_size was 1.0, is 0.5"), "{refused:?}");
    assert!(!nothing.path.exists());
    for (before, after) in before.iter().zip(&after) {
        assert!(after["known"] == true && before["known"] == false, "{after}");
        assert_eq!(before["load"], after["load"]);
    }
}
