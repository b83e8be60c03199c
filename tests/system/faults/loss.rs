//! Ends that freeze, and what waits for them. What else can be lost is in the matrix.
//!
//! That whoever is silent is lost, and whoever has heartbeats is not, is a matter of time: the simulation (`tests/sim`)
//! plays it, and the tests of it here, with real clocks, run alone.

use lon_tests::process::{Closed, Finished, LoadGen, SutNode};
use lon_tests::route::{OpenRoute, Route};
use lon_tests::run_folder::RunFolder;
use lon_tests::test_run::TestRun;
use nix::sys::signal::Signal;

const LONG: &str = "min_duration=600s,Server.target_qps=100,Offline.target_qps=5000";

/// A run on each way, all at once, which has begun; with its nodes.
fn long_runs(scenario: &str, names: &[&str]) -> Vec<(OpenRoute, Vec<SutNode>, LoadGen, RunFolder)> {
    long_runs_with(scenario, names, &[])
}

fn long_runs_with(scenario: &str, names: &[&str], more: &[&str]) -> Vec<(OpenRoute, Vec<SutNode>, LoadGen, RunFolder)> {
    let begin = |route: Route| {
        let opened = route.open();
        let nodes: Vec<_> = names.iter().map(|name| opened.node(name, "synthetic:constant=2ms", &[])).collect();
        let (run, folder) = opened.on(TestRun::new(scenario), &nodes).args(more).set(LONG).begin();
        (opened, nodes, run, folder)
    };
    Route::ALL.into_iter().map(begin).collect()
}

/// Other settings make no run better that was broken off.
fn assert_no_advice(finished: &Finished) {
    assert!(finished.stdout.contains("INVALID"), "{finished:?}");
    // Beside the rate that was reached stands the one that was asked for.
    let output = finished.stdout.replace("(target_qps 100)", "");
    let advises = ["Try ", "advice", "target_qps"].iter().any(|word| output.contains(word));
    assert!(!advises, "{finished:?}");
}

/// Ten minutes were asked for, and half a second is there.
#[test]
fn a_run_that_is_interrupted_gets_no_advice() {
    for (_paved, _nodes, run, _folder) in long_runs("Server", &["a"]) {
        std::thread::sleep(std::time::Duration::from_millis(500));
        run.signal(Signal::SIGINT);
        let finished = run.finish();
        assert_eq!(finished.code, Some(5), "{finished:?}");
        assert_no_advice(&finished);
    }
}

/// A reader must not take half a second for the run, nor the words of a library for a reason.
#[test]
fn a_run_that_lost_its_node_says_that_its_numbers_are_of_a_part() {
    let node = SutNode::start("a", "synthetic:constant=2ms", &[]);
    let (run, folder) = TestRun::new("Server").on(&node.address).set(LONG).begin_until_answered(50);
    node.signal(Signal::SIGKILL);
    let finished = run.finish();
    assert_eq!(finished.code, Some(4), "{finished:?}");
    assert_no_advice(&finished);
    let line = |name: &str| finished.stdout.lines().find(|line| line.starts_with(name)).unwrap_or_default();
    for (name, part) in [
        ("Result", "the run ended early, since the SUT failed: the numbers below are of the time until then"),
        ("SUT", "Network SUT: a "),
        ("Metric", ", until the SUT failed"),
        ("Limit", ", until the SUT failed"),
        ("Division", &format!("loadgen-node show --division {}", folder.arg())),
    ] {
        assert!(line(name).contains(part), "no '{part}' in {finished:?}");
    }
    assert!(!finished.stdout.contains("h2 protocol"), "{finished:?}");
    let summary = folder.texts().into_iter().find(|text| text.contains("MLPerf Results Summary")).unwrap();
    assert!(summary.contains("Result is : INVALID") && !summary.contains("Recommendations"), "{summary}");
}

/// Too short for it to be lost, and longer than any schedule lag that is allowed.
#[test]
#[ignore = ".ci/run timing"]
fn a_node_that_stands_still_for_a_while_makes_the_result_invalid() {
    let settings = "min_duration=7000,Server.target_qps=500,Server.target_latency=60000";
    let begin = |route: Route| {
        let opened = route.open();
        let nodes = [opened.node("naps", "synthetic:constant=2ms", &["--workers", "4"])];
        let (run, folder) = opened.on(TestRun::new("Server"), &nodes).set(settings).begin();
        (route, nodes, run, folder)
    };
    let runs = Route::ALL.map(begin);
    std::thread::sleep(std::time::Duration::from_secs(1));
    runs.iter().for_each(|(_, nodes, ..)| nodes[0].signal(Signal::SIGSTOP));
    std::thread::sleep(std::time::Duration::from_secs(3));
    runs.iter().for_each(|(_, nodes, ..)| nodes[0].signal(Signal::SIGCONT));
    for (route, _nodes, run, folder) in runs {
        let finished = run.finish();
        assert_eq!(finished.code, Some(3), "{route:?}: {finished:?}");
        let result = folder.result();
        assert_eq!(result["counts"]["failed"], 0, "{route:?}: {result}");
        let stalls = result["stalls"].as_array().unwrap();
        let of_node = stalls.iter().find(|stall| stall["end"] == "naps");
        let duration_ns = of_node.unwrap_or_else(|| panic!("{route:?}: {result}"))["duration_ns"].as_u64().unwrap();
        assert!(duration_ns > 2_000_000_000, "{route:?}: {result}");
        assert!(result["reasons"].to_string().contains("SUT node naps"), "{route:?}: {result}");
    }
}

/// Its kernel goes on acknowledging what the node sends, so only the missing heartbeats tell.
#[test]
#[ignore = ".ci/run timing"]
fn a_node_is_free_again_after_its_loadgen_froze() {
    let again = |(opened, nodes, frozen, folder): (OpenRoute, Vec<SutNode>, LoadGen, RunFolder)| {
        frozen.signal(Signal::SIGSTOP);
        let next = opened.on(TestRun::new("Offline"), &nodes).args(&["--wait-ready", "90s"]);
        (next.set("min_duration=0,min_query_count=100,target_qps=1").start(), frozen, folder, nodes, opened)
    };
    let runs: Vec<_> = long_runs("Server", &["a"]).into_iter().map(again).collect();
    for ((run, _), frozen, folder, _nodes, opened) in runs {
        let finished = run.finish();
        assert_eq!(finished.code, Some(0), "{:?}: {finished:?}", opened.route);
        frozen.signal(Signal::SIGCONT);
        let finished = frozen.finish();
        assert_eq!(finished.code, Some(4), "{:?}: {finished:?}", opened.route);
        let reasons = folder.result()["reasons"].to_string();
        assert!(reasons.contains("nothing came from its client for 10s"), "{:?}: {reasons}", opened.route);
    }
}

/// Where a thread of its own does the network's work, it watches over the nodes, too, and sends heartbeats.
#[test]
#[ignore = ".ci/run timing"]
fn a_thread_for_the_network_sends_heartbeats_and_misses_those_of_nodes() {
    let begin = |route: Route| {
        let opened = route.open();
        let nodes = [opened.node("slow", "synthetic:constant=12s", &[])];
        let test = TestRun::new("Server").set("min_duration=0,min_query_count=1,target_qps=1,target_latency=60000");
        let (run, folder) = opened.on(test, &nodes).args(&["--io-threads", "1"]).start();
        (opened, nodes, run, folder)
    };
    let waiting = Route::ALL.map(begin);
    for (opened, nodes, run, folder) in long_runs_with("Server", &["freezes"], &["--io-threads", "1"]) {
        nodes[0].signal(Signal::SIGSTOP);
        let finished = run.finish();
        assert_eq!(finished.code, Some(4), "{:?}: {finished:?}", opened.route);
        let reasons = folder.result()["reasons"].to_string();
        assert!(reasons.contains("nothing was heard from it"), "{:?}: {reasons}", opened.route);
        assert_no_advice(&finished);
    }
    for (opened, _nodes, run, folder) in waiting {
        let finished = run.finish();
        assert_eq!(folder.result()["counts"]["completed"], 1, "{:?}: {finished:?}", opened.route);
    }
}

/// Longer than a client may be silent.
#[test]
#[ignore = ".ci/run timing"]
fn a_run_that_waits_long_for_an_answer_keeps_its_node() {
    let begin = |route: Route| {
        let opened = route.open();
        let nodes = [opened.node("slow", "synthetic:constant=12s", &[])];
        let test = TestRun::new("SingleStream").set("min_duration=0,min_query_count=1");
        let (run, folder) = opened.on(test, &nodes).start();
        (opened, nodes, run, folder)
    };
    for (opened, _nodes, run, folder) in Route::ALL.map(begin) {
        let finished = run.finish();
        // INVALID for another reason: one sample says little.
        assert!(matches!(finished.code, Some(0 | 3)), "{:?}: {finished:?}", opened.route);
        assert_eq!(folder.result()["counts"]["completed"], 1, "{:?}", opened.route);
    }
}

#[test]
fn waiting_for_nodes_can_be_interrupted_too() {
    let absent = Closed::new();
    let (mut run, folder) = TestRun::digits("Server").on(&absent.address).args(&["--wait-ready", "600s"]).start();
    run.wait_for_log("waiting for");
    run.signal(Signal::SIGINT);
    assert_eq!(run.finish().code, Some(5));
    assert!(!folder.path.exists(), "nothing was measured");
}

/// All that the node held is given up at once; what still waits must go to it when it is back.
#[test]
#[ignore = ".ci/run timing"]
fn a_node_that_freezes_for_a_while_is_asked_on() {
    let node = SutNode::start("naps", "synthetic:constant=2ms", &["--max-batch", "1"]);
    let run = TestRun::new("Offline").on(&node.address).set("target_qps=2000,min_duration=1000,min_query_count=1");
    let (run, folder) = run.args(&["--response-timeout", "1s"]).begin();
    node.signal(Signal::SIGSTOP);
    std::thread::sleep(std::time::Duration::from_millis(2_500));
    node.signal(Signal::SIGCONT);
    let finished = run.finish();
    assert_eq!(finished.code, Some(3), "{finished:?}");
    let counts = &folder.result()["counts"];
    let count = |name: &str| counts[name].as_u64().unwrap();
    assert!(count("failed") > 0 && count("completed") > 0, "{counts}");
    assert_eq!(count("issued"), count("failed") + count("completed"), "{counts}");
}
