//! Nothing that a run leaves behind says VALID unless every sample was answered once and all of it was written. The
//! result is INVALID where an end stood still.

use std::fs;
use std::time::Duration;

use lon_tests::folder_check::assert_nothing_says_valid;
use lon_tests::process::{Finished, LoadGen, SutNode};
use lon_tests::run_folder::{RunFolder, assert_sums};
use lon_tests::test_run::{TestRun, in_shell, short_submission};
use nix::sys::signal::Signal;
use serde_json::Value;

const SCENARIOS: [&str; 4] = ["SingleStream", "MultiStream", "Server", "Offline"];

/// They come before anything looks for samples that are overdue, or after that. What happens in the one case and in the
/// other the tests of `qdl::dispatch::lane` say, by a clock of their own.
#[test]
fn answers_beyond_the_response_timeout_are_none() {
    let node = SutNode::start("slow", "synthetic:constant=20ms", &[]);
    for scenario in ["Offline", "SingleStream"] {
        let set = "min_duration=300ms,min_query_count=3,Offline.target_qps=20";
        let run = TestRun::new(scenario).on(&node.address).set(set).args(&["--response-timeout", "1ms"]);
        let (finished, folder) = run.finish();
        // A node that is late with one after the other is given up.
        assert!(matches!(finished.code, Some(3 | 4)), "{scenario}: {finished:?}");
        let (result, report) = (folder.result(), folder.network_report());
        assert_eq!(result["counts"]["completed"], 0, "{scenario}: {result}");
        assert_eq!(result["counts"]["failed"], result["counts"]["issued"], "{scenario}: {result}");
        if finished.code == Some(3) {
            assert_eq!(result["counts"]["late"], result["counts"]["issued"], "{scenario}: {result}");
            assert_eq!(report.items("/differences").len(), 0, "{scenario}");
        }
        assert_nothing_says_valid(&folder.path, scenario);
    }
}

#[test]
fn a_sut_that_answers_nothing_has_no_rate() {
    let node = SutNode::start("slow", "synthetic:constant=20s", &[]);
    let runs: Vec<_> = ["Offline", "Server"]
        .map(|scenario| {
            let set = "min_duration=300ms,min_query_count=3,Server.target_qps=20,Offline.target_qps=20";
            let run = TestRun::new(scenario).on(&node.address).set(set);
            let (finished, folder) = run.args(&["--response-timeout", "200ms"]).finish();
            (scenario, finished, folder)
        })
        .into();
    for (scenario, finished, folder) in runs {
        assert!(matches!(finished.code, Some(3 | 4)), "{scenario}: {finished:?}");
        let result = folder.result();
        assert_eq!(result["counts"]["completed"], 0, "{scenario}: {result}");
        assert!(result["metric"]["value"].is_null(), "{scenario}: {result}");
        let summary = fs::read_to_string(folder.path.join("mlperf_log_summary.txt")).unwrap();
        assert!(summary.contains("  Not valid, because: "), "{scenario}: {summary}");
        let rate = if scenario == "Offline" { "Samples per second: 0\n" } else { "per second    : 0.00\n" };
        assert!(summary.contains(rate), "{scenario}: {summary}");
        assert_nothing_says_valid(&folder.path, scenario);
    }
}

/// Also in the matrix, beside other faults.
#[test]
#[ignore = ".ci/run timing"]
fn a_loadgen_node_that_stood_still_says_so_in_every_scenario() {
    let runs: Vec<_> = SCENARIOS
        .into_iter()
        .map(|scenario| {
            let node = SutNode::start("a", "synthetic:constant=1ms", &[]);
            let set = "min_duration=2500,min_query_count=1,Server.target_qps=50,Offline.target_qps=900";
            let (run, folder) = TestRun::new(scenario).on(&node.address).set(set).begin();
            (scenario, node, run, folder)
        })
        .collect();
    std::thread::sleep(Duration::from_millis(300));
    runs.iter().for_each(|(_, _, run, _)| run.signal(Signal::SIGSTOP));
    std::thread::sleep(Duration::from_millis(1_500));
    runs.iter().for_each(|(_, _, run, _)| run.signal(Signal::SIGCONT));
    for (scenario, _node, run, folder) in runs {
        let finished = run.finish();
        assert_eq!(finished.code, Some(3), "{scenario}: {finished:?}");
        assert!(finished.stdout.contains("Stall     the LoadGen node stood still for "), "{scenario}: {finished:?}");
        let result = folder.result();
        let stalls = result["stalls"].as_array().unwrap();
        let long = |stall: &Value| stall["duration_ns"].as_u64() > Some(1_000_000_000);
        assert!(stalls.iter().any(|stall| stall["end"] == "loadgen" && long(stall)), "{scenario}: {result}");
        assert!(result["reasons"].to_string().contains("the LoadGen node stood still"), "{scenario}: {result}");
        assert_eq!(result["result"], "INVALID", "{scenario}");
        // LoadGen has no rule on stalls: its own rules alone decide its log files.
        let summary = fs::read_to_string(folder.path.join("mlperf_log_summary.txt")).unwrap();
        let official = format!("Result is : {}\n", result["official_result"].as_str().unwrap());
        assert!(summary.contains(&official) && !summary.contains("stood still"), "{scenario}: {summary}");
    }
}

/// A second between two queries, most of it after an answer. Nothing else is due then.
#[test]
#[ignore = ".ci/run timing"]
fn a_pause_between_two_queries_is_no_stall() {
    let node = SutNode::start("a", "null", &[]);
    let test = TestRun::new("Server").on(&node.address).set("min_duration=8000,min_query_count=1,target_qps=1");
    let (finished, folder) = test.finish();
    let result = folder.result();
    let (stalls, queries) = (result["stalls"].as_array().unwrap().len(), result["counts"]["issued"].as_u64().unwrap());
    assert!(queries >= 4 && stalls == 0, "{stalls} stalls among {queries} queries: {finished:?}");
}

#[test]
fn a_run_that_was_killed_has_not_ended() {
    let node = SutNode::start("a", "null", &[]);
    let (run, folder) = TestRun::new("Server").on(&node.address).set("min_duration=600s,target_qps=100").begin();
    run.signal(Signal::SIGKILL);
    assert_eq!(run.finish().code, None);
    let result = folder.result();
    assert_eq!((&result["result"], &result["interrupted"]), (&"INVALID".into(), &true.into()));
    assert!(result["reasons"].to_string().contains("has not ended"), "{result}");
}

#[test]
fn files_that_may_not_grow_make_the_result_invalid() {
    let node = SutNode::start("a", "null", &[]);
    let above = tempfile::tempdir().unwrap();
    // In units of 512 or 1024 bytes, as the shell likes.
    for (blocks, codes) in [(1, [2, 2]), (8, [1, 2]), (12, [1, 1]), (20, [1, 1])] {
        let run = in_shell(short_submission(&node), &format!("ulimit -f {blocks};"), above.path());
        let (finished, folder) = run.finish();
        assert!(finished.code.is_some_and(|code| codes.contains(&code)), "{blocks}: {finished:?}");
        assert!(finished.stderr.contains("File too large"), "{blocks}: {finished:?}");
        for folder in [folder.path.parent().unwrap(), above.path()] {
            assert_nothing_says_valid(folder, &format!("{blocks} blocks"));
        }
        // No folder takes more.
        assert!(finished.code != Some(1) || finished.stderr.contains("; lost: "), "{blocks}: {finished:?}");
    }
}

/// The folder's own list is right about each file, and every file is listed.
#[test]
fn a_run_folder_lists_its_files_with_their_sums() {
    let node = SutNode::start("a", "null", &[]);
    let (finished, folder): (Finished, RunFolder) = short_submission(&node).finish();
    assert_eq!(finished.code, Some(0), "{finished:?}");
    assert_sums(&folder.path);
    // A timeline that was altered and sealed again is not what the run wrote.
    let path = folder.path.join("timeline.bin");
    let other = fs::read(&path).unwrap();
    let (again, elsewhere) = short_submission(&node).finish();
    assert_eq!(again.code, Some(0), "{again:?}");
    fs::write(elsewhere.path.join("timeline.bin"), other).unwrap();
    let replay = LoadGen::run(&["replay", "--timeline", elsewhere.path.join("timeline.bin").to_str().unwrap()]);
    assert_eq!(replay.code, Some(2), "{replay:?}");
    assert!(replay.stderr.contains("is not what the run wrote"), "{replay:?}");
}
