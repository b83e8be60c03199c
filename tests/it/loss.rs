//! Nodes that die, and users who stop a run.

use lon_tests::process::{LoadGen, SutNode};
use lon_tests::run_folder::RunFolder;
use lon_tests::test_run::TestRun;
use nix::sys::signal::Signal;

fn long_run(sut: &str, scenario: &str) -> (LoadGen, RunFolder) {
    let settings = "min_duration=60000,Server.target_qps=500,Offline.target_qps=5000";
    TestRun::new(scenario).on(sut).set(settings).begin()
}

#[test]
fn a_node_killed_in_the_middle_ends_the_run_with_exit_4() {
    for scenario in ["Server", "Offline", "SingleStream"] {
        let nodes = [
            SutNode::start("stays", "synthetic:constant=2ms", &[]),
            SutNode::start("dies", "synthetic:constant=2ms", &[]),
        ];
        let sut = format!("{},{}", nodes[0].address, nodes[1].address);
        let (run, folder) = long_run(&sut, scenario);
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
    let (run, folder) = long_run(&node.address, "Server");
    node.signal(Signal::SIGSTOP);
    let finished = run.finish();
    assert_eq!(finished.code, Some(4), "{finished:?}");
    folder.assert_complete();
    assert!(folder.result()["reasons"].to_string().contains("nothing was heard"), "{}", folder.result());
}

#[test]
fn a_node_that_is_told_to_stop_answers_what_it_has() {
    let node = SutNode::start("leaves", "synthetic:constant=2ms", &[]);
    let (run, folder) = long_run(&node.address, "Server");
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
        let (run, folder) = long_run(&node.address, scenario);
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
    let (run, _folder) = long_run(&node.address, "Server");
    run.signal(Signal::SIGKILL);
    assert_eq!(run.finish().code, None);
    let next = TestRun::new("Offline").on(&node.address).set("min_duration=0,min_query_count=100,target_qps=1");
    let (finished, _folder) = next.args(&["--wait-ready", "30s"]).finish();
    assert_eq!(finished.code, Some(0), "{finished:?}");
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
