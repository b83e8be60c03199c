//! Nothing that a run leaves behind says VALID unless every sample was answered once, neither end stood still, and all
//! of it was written.

use std::fs;
use std::path::Path;
use std::time::Duration;

use lon_tests::process::{Finished, LoadGen, SutNode};
use lon_tests::run_folder::{RunFolder, assert_sums};
use lon_tests::test_run::TestRun;
use nix::sys::signal::Signal;
use serde_json::Value;

const SCENARIOS: [&str; 4] = ["SingleStream", "MultiStream", "Server", "Offline"];

/// No file below says VALID, in whatever form.
fn assert_nothing_says_valid(folder: &Path, told: &str) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            assert_nothing_says_valid(&path, told);
        } else if path.file_name().unwrap() == "timeline.bin" {
            let replay = LoadGen::run(&["replay", "--timeline", path.to_str().unwrap()]);
            assert!(matches!(replay.code, Some(1 | 3..=5)), "{told}: {replay:?}");
            assert!(replay.stdout.contains("Result is : INVALID\n"), "{told}: {replay:?}");
        } else {
            let text = fs::read_to_string(&path).unwrap();
            for valid in ["Result is : VALID", "\"VALID\""] {
                assert!(!text.contains(valid), "{told}: {} says {valid}", path.display());
            }
        }
    }
}

/// All answers come before anything looks for samples that are overdue.
#[test]
fn answers_beyond_the_response_timeout_are_none() {
    let node = SutNode::start("slow", "synthetic:constant=20ms", &[]);
    for scenario in ["Offline", "SingleStream"] {
        let set = "min_duration=300,min_query_count=3,Offline.target_qps=20";
        let run = TestRun::new(scenario).on(&node.address).set(set).args(&["--response-timeout", "1ms"]);
        let (finished, folder) = run.finish();
        assert_eq!(finished.code, Some(3), "{scenario}: {finished:?}");
        let (result, report) = (folder.result(), folder.network_report());
        assert_eq!(result["counts"]["completed"], 0, "{scenario}: {result}");
        assert_eq!(result["counts"]["late"], result["counts"]["issued"], "{scenario}: {result}");
        assert_eq!(report.items("/differences").len(), 0, "{scenario}");
        assert_nothing_says_valid(&folder.path, scenario);
    }
}

#[test]
fn a_sut_that_answers_nothing_has_no_rate() {
    let node = SutNode::start("slow", "synthetic:constant=20s", &[]);
    let runs: Vec<_> = ["Offline", "Server"]
        .map(|scenario| {
            let set = "min_duration=300,min_query_count=3,Server.target_qps=20,Offline.target_qps=20";
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

#[test]
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
        assert_nothing_says_valid(&folder.path, scenario);
    }
}

/// A second between two queries, most of it after an answer. Nothing else is due then.
#[test]
fn a_pause_between_two_queries_is_no_stall() {
    let node = SutNode::start("a", "null", &[]);
    let test = TestRun::new("Server").on(&node.address).set("min_duration=8000,min_query_count=1,target_qps=1");
    let (finished, folder) = test.finish();
    let result = folder.result();
    let (stalls, queries) = (result["stalls"].as_array().unwrap().len(), result["counts"]["issued"].as_u64().unwrap());
    // A machine under load may really stand still once.
    assert!(queries >= 4 && stalls < 2, "{stalls} stalls among {queries} queries: {finished:?}");
}

#[test]
fn a_run_that_was_killed_has_not_ended() {
    let node = SutNode::start("a", "null", &[]);
    let (run, folder) = TestRun::new("Server").on(&node.address).set("min_duration=60000,target_qps=100").begin();
    run.signal(Signal::SIGKILL);
    assert_eq!(run.finish().code, None);
    let result = folder.result();
    assert_eq!((&result["result"], &result["interrupted"]), (&"INVALID".into(), &true.into()));
    assert!(result["reasons"].to_string().contains("has not ended"), "{result}");
}

fn short(node: &SutNode) -> TestRun {
    let set = "min_duration=0,min_query_count=1,target_qps=1000";
    TestRun::new("Offline").on(&node.address).set(set).args(&["--mode", "SubmissionRun"])
}

/// In the shell that becomes the program: `setup` first, and a folder of this path for what the run folder does not
/// take.
fn in_shell(run: TestRun, setup: &str, other: &Path) -> TestRun {
    fs::create_dir_all(other).unwrap();
    run.under(&["sh", "-c", &format!("{setup} TMPDIR={} exec \"$0\" \"$@\"", other.display())])
}

#[test]
fn files_that_may_not_grow_make_the_result_invalid() {
    let node = SutNode::start("a", "null", &[]);
    let above = tempfile::tempdir().unwrap();
    // In units of 512 or 1024 bytes, as the shell likes.
    for (blocks, codes) in [(1, [2, 2]), (8, [1, 2]), (12, [1, 1]), (20, [1, 1])] {
        let run = in_shell(short(&node), &format!("ulimit -f {blocks};"), above.path());
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

#[test]
#[ignore = "mounts a tmpfs: needs root"]
fn a_full_disk_makes_the_result_invalid() {
    let node = SutNode::start("a", "null", &[]);
    for kib in (4..=72).step_by(4) {
        let other = tempfile::tempdir().unwrap();
        let run = short(&node).into(RunFolder::on_small_disk(kib << 10));
        let (finished, folder) = in_shell(run, "", other.path()).finish();
        let told = format!("{kib} KiB: {finished:?}");
        if finished.code == Some(0) {
            assert_sums(&folder.path);
            continue;
        }
        assert!(finished.stderr.contains("No space left"), "{told}");
        assert_nothing_says_valid(folder.path.parent().unwrap(), &told);
        assert_nothing_says_valid(other.path(), &told);
        if finished.code == Some(2) {
            continue;
        }
        assert_eq!(finished.code, Some(1), "{told}");
        assert_saved(&finished, &folder.path, other.path());
    }
}

/// What the run folder does not have is in the other one, and the message names it.
fn assert_saved(finished: &Finished, out: &Path, other: &Path) {
    let other = fs::read_dir(other).unwrap().next().expect("a folder").unwrap().path();
    for name in ["mlperf_log_summary.txt", "mlperf_log_detail.txt", "mlperf_log_accuracy.json", "timeline.bin"] {
        if !out.join(name).exists() {
            assert!(other.join(name).exists() && finished.stderr.contains(name), "{name}: {finished:?}");
        }
    }
    assert_sums(&other);
    assert!(finished.stdout.contains(&format!("Saved     {}", other.display())), "{finished:?}");
    assert!(finished.stdout.contains("not everything was written: "), "{finished:?}");
}

/// What the folder's own list says of each file is so, and every file is listed.
#[test]
fn a_run_folder_lists_its_files_with_their_sums() {
    let node = SutNode::start("a", "null", &[]);
    let (finished, folder): (Finished, RunFolder) = short(&node).finish();
    assert_eq!(finished.code, Some(0), "{finished:?}");
    assert_sums(&folder.path);
    // Altered and sealed again, a timeline is not what the run wrote.
    let path = folder.path.join("timeline.bin");
    let other = fs::read(&path).unwrap();
    let (again, elsewhere) = short(&node).finish();
    assert_eq!(again.code, Some(0), "{again:?}");
    fs::write(elsewhere.path.join("timeline.bin"), other).unwrap();
    let replay = LoadGen::run(&["replay", "--timeline", elsewhere.path.join("timeline.bin").to_str().unwrap()]);
    assert_eq!(replay.code, Some(2), "{replay:?}");
    assert!(replay.stderr.contains("is not what the run wrote"), "{replay:?}");
}
