//! Nodes that die, and users who stop a run.

use lon_tests::process::{LoadGen, SutNode};
use lon_tests::run_folder::RunFolder;
use nix::sys::signal::Signal;

fn long_run(nodes: &[&SutNode], scenario: &str, folder: &RunFolder) -> LoadGen {
    let sut: Vec<&str> = nodes.iter().map(|node| node.address.as_str()).collect();
    let mut run = LoadGen::start(&[
        "run",
        "--sut",
        &sut.join(","),
        "--benchmark",
        "synthetic",
        "--dataset",
        "synthetic:u8[64]x16",
        "--scenario",
        scenario,
        "--set",
        "min_duration=60000,Server.target_qps=500,Offline.target_qps=5000",
        "--out",
        folder.arg(),
    ]);
    run.wait_for_log("run started");
    run
}

#[test]
fn a_node_killed_in_the_middle_ends_the_run_with_exit_4() {
    for scenario in ["Server", "Offline", "SingleStream"] {
        let nodes = [
            SutNode::start("stays", "synthetic:constant=2ms", &[]),
            SutNode::start("dies", "synthetic:constant=2ms", &[]),
        ];
        let folder = RunFolder::new();
        let run = long_run(&[&nodes[0], &nodes[1]], scenario, &folder);
        nodes[1].signal(Signal::SIGKILL);
        let finished = run.finish();
        assert_eq!(finished.code, Some(4), "{scenario}: {finished:?}");
        folder.assert_complete();
        let result = folder.result();
        assert_eq!(result["result"], "INVALID");
        assert!(result["reasons"].to_string().contains("node dies was lost"), "{scenario}: {result}");
        // The name of an SUT that is not whole does not claim to be one.
        assert!(!result["sut_name"].as_str().unwrap().contains("Network SUT"), "{scenario}: {result}");
    }
}

#[test]
fn a_node_that_freezes_is_lost_by_its_silence() {
    let node = SutNode::start("frozen", "synthetic:constant=2ms", &[]);
    let folder = RunFolder::new();
    let run = long_run(&[&node], "Server", &folder);
    node.signal(Signal::SIGSTOP);
    let finished = run.finish();
    assert_eq!(finished.code, Some(4), "{finished:?}");
    folder.assert_complete();
    assert!(folder.result()["reasons"].to_string().contains("nothing was heard"), "{}", folder.result());
}

#[test]
fn a_node_that_is_told_to_stop_answers_what_it_has() {
    let node = SutNode::start("leaves", "synthetic:constant=2ms", &[]);
    let folder = RunFolder::new();
    let run = long_run(&[&node], "Server", &folder);
    node.signal(Signal::SIGTERM);
    let finished = run.finish();
    assert_eq!(finished.code, Some(4), "{finished:?}");
    assert!(folder.result()["reasons"].to_string().contains("shutting down"), "{}", folder.result());
    assert_eq!(node.wait(), Some(0));
}

#[test]
fn an_interrupted_run_writes_what_it_has_and_exits_5() {
    for (scenario, signal) in
        [("Server", Signal::SIGINT), ("Offline", Signal::SIGTERM), ("SingleStream", Signal::SIGINT)]
    {
        let node = SutNode::start("a", "synthetic:constant=2ms", &[]);
        let folder = RunFolder::new();
        let run = long_run(&[&node], scenario, &folder);
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
    let node = SutNode::start("a", "null", &[]);
    let folder = RunFolder::new();
    let run = long_run(&[&node], "Server", &folder);
    run.signal(Signal::SIGKILL);
    assert_eq!(run.finish().code, None);
    let next = RunFolder::new();
    let finished = LoadGen::run(&[
        "run",
        "--sut",
        &node.address,
        "--wait-ready",
        "30s",
        "--benchmark",
        "synthetic",
        "--dataset",
        "synthetic:u8[64]x16",
        "--scenario",
        "Offline",
        "--set",
        "min_duration=0,min_query_count=100,target_qps=1",
        "--out",
        next.arg(),
    ]);
    assert_eq!(finished.code, Some(0), "{finished:?}");
}

#[test]
fn waiting_for_nodes_can_be_interrupted_too() {
    let absent = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let folder = RunFolder::new();
    let mut run = LoadGen::start(&[
        "run",
        "--sut",
        &absent,
        "--wait-ready",
        "60s",
        "--benchmark",
        "digits",
        "--scenario",
        "Server",
        "--out",
        folder.arg(),
    ]);
    run.wait_for_log("waiting for");
    run.signal(Signal::SIGINT);
    assert_eq!(run.finish().code, Some(5));
    assert!(!folder.path.exists(), "nothing was measured");
}
