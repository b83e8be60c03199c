//! Nodes that die, and users who stop a run.

use lon_tests::process::{LoadGen, SutNode};
use lon_tests::run_folder::RunFolder;
use lon_tests::test_run::TestRun;
use lon_tests::way::{PavedWay, Way};
use nix::sys::signal::Signal;

const LONG: &str = "min_duration=60000,Server.target_qps=500,Offline.target_qps=5000";

fn long_run(sut: &str, scenario: &str) -> (LoadGen, RunFolder) {
    TestRun::new(scenario).on(sut).set(LONG).begin()
}

/// A run on each way, all at once, which has begun; with its nodes.
fn long_runs(scenario: &str, names: &[&str]) -> Vec<(PavedWay, Vec<SutNode>, LoadGen, RunFolder)> {
    let begin = |way: Way| {
        let paved = way.paved();
        let nodes: Vec<_> = names.iter().map(|name| paved.node(name, "synthetic:constant=2ms", &[])).collect();
        let (run, folder) = paved.on(TestRun::new(scenario), &nodes).set(LONG).begin();
        (paved, nodes, run, folder)
    };
    Way::ALL.into_iter().map(begin).collect()
}

#[test]
fn a_node_killed_in_the_middle_ends_the_run_with_exit_4() {
    for scenario in ["Server", "Offline", "SingleStream"] {
        let runs = long_runs(scenario, &["stays", "dies"]);
        runs.iter().for_each(|(_, nodes, ..)| nodes[1].signal(Signal::SIGKILL));
        for (PavedWay { way, .. }, _nodes, run, folder) in runs {
            let finished = run.finish();
            assert_eq!(finished.code, Some(4), "{way:?} {scenario}: {finished:?}");
            folder.assert_complete();
            let result = folder.result();
            assert_eq!(result["result"], "INVALID");
            assert!(result["reasons"].to_string().contains("node dies was lost"), "{way:?} {scenario}: {result}");
            // The name of an SUT that is not whole does not claim to be one.
            assert!(!result["sut_name"].as_str().unwrap().contains("Network SUT"), "{way:?} {scenario}: {result}");
        }
    }
}

#[test]
fn a_node_that_freezes_is_lost_by_its_silence() {
    let runs = long_runs("Server", &["frozen"]);
    runs.iter().for_each(|(_, nodes, ..)| nodes[0].signal(Signal::SIGSTOP));
    for (PavedWay { way, .. }, _nodes, run, folder) in runs {
        let finished = run.finish();
        assert_eq!(finished.code, Some(4), "{way:?}: {finished:?}");
        folder.assert_complete();
        let result = folder.result();
        assert!(result["reasons"].to_string().contains("nothing was heard"), "{way:?}: {result}");
    }
}

#[test]
fn a_node_that_is_told_to_stop_answers_what_it_has() {
    let runs = long_runs("Server", &["leaves"]);
    runs.iter().for_each(|(_, nodes, ..)| nodes[0].signal(Signal::SIGTERM));
    for (PavedWay { way, .. }, nodes, run, folder) in runs {
        let finished = run.finish();
        assert_eq!(finished.code, Some(4), "{way:?}: {finished:?}");
        let result = folder.result();
        assert!(result["reasons"].to_string().contains("shutting down"), "{way:?}: {result}");
        assert_eq!(nodes.into_iter().map(SutNode::wait).collect::<Vec<_>>(), [Some(0)], "{way:?}");
    }
}

#[test]
fn an_interrupted_run_writes_what_it_has_and_exits_5() {
    for (scenario, signal) in
        [("Server", Signal::SIGINT), ("Offline", Signal::SIGTERM), ("SingleStream", Signal::SIGINT)]
    {
        let node = SutNode::start("a", "synthetic:constant=2ms", &[]);
        let (run, folder) = long_run(&node.address, scenario);
        // Twice at once, as `timeout` does: that is one wish.
        run.signal(signal);
        run.signal(signal);
        let finished = run.finish();
        assert_eq!(finished.code, Some(5), "{scenario}: {finished:?}");
        folder.assert_complete();
        let result = folder.result();
        assert_eq!(
            (&result["interrupted"], &result["result"]),
            (&true.into(), &"INVALID".into()),
            "{scenario}: {result}"
        );
        assert!(finished.stdout.contains("interrupted"), "{}", finished.stdout);
    }
}

#[test]
fn a_node_is_free_again_after_its_run_died() {
    let again = |(paved, nodes, run, _folder): (PavedWay, Vec<SutNode>, LoadGen, RunFolder)| {
        run.signal(Signal::SIGKILL);
        assert_eq!(run.finish().code, None);
        // Over QUIC nobody says that a process has died: the connection's idle time, half a minute, has to pass.
        let next = paved.on(TestRun::new("Offline"), &nodes).args(&["--wait-ready", "90s"]);
        (next.set("min_duration=0,min_query_count=100,target_qps=1").start(), nodes, paved)
    };
    let runs: Vec<_> = long_runs("Server", &["a"]).into_iter().map(again).collect();
    for ((run, _folder), _nodes, paved) in runs {
        let finished = run.finish();
        assert_eq!(finished.code, Some(0), "{:?}: {finished:?}", paved.way);
    }
}

#[test]
fn waiting_for_nodes_can_be_interrupted_too() {
    let absent = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let (mut run, folder) = TestRun::digits("Server").on(&absent).args(&["--wait-ready", "60s"]).start();
    run.wait_for_log("waiting for");
    run.signal(Signal::SIGINT);
    assert_eq!(run.finish().code, Some(5));
    assert!(!folder.path.exists(), "nothing was measured");
}

/// All that the node held is given up at once; what still waits must go to it when it is back.
#[test]
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
