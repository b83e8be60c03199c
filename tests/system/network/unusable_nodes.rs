//! Nodes that cannot be used: named, with the address, and nothing is left behind.

use lon_proto::v1::StartRunResponse;
use lon_tests::metrics::{Page, free_address};
use lon_tests::peer::{Behaviour, Peer};
use lon_tests::process::{Closed, LoadGen, SutNode};
use lon_tests::run_folder::RunFolder;
use lon_tests::test_run::TestRun;
use nix::sys::signal::Signal;

fn short(sut: &str) -> TestRun {
    TestRun::new("Server").on(sut).set("min_duration=0,min_query_count=10,target_qps=1000")
}

fn assert_refused(sut: &str, exit: i32, parts: &[&str]) {
    let (finished, folder) = short(sut).finish();
    assert_eq!(finished.code, Some(exit), "{finished:?}");
    for part in parts {
        assert!(finished.stderr.contains(part), "no '{part}' in: {}", finished.stderr);
    }
    assert!(!folder.path.exists(), "a run that never started leaves nothing");
}

/// Nodes that run different things are no SUT: both are named with what differs, and --mixed-nodes runs them, marked.
#[test]
fn nodes_that_are_not_one_sut_are_refused_or_marked() {
    let (a, b) = (SutNode::start("a", "null", &[]), SutNode::start("b", "synthetic:constant=1ms,output=8", &[]));
    let sut = format!("{},{}", a.address, b.address);
    let settings = "target_qps=1000,min_duration=100ms,min_query_count=1";
    let (refused, _) = TestRun::new("Offline").on(&sut).set(settings).finish();
    assert_eq!(refused.code, Some(2), "{refused:?}");
    for part in ["not one SUT", "engine: null at a, synthetic at b", "outputs: ", "--mixed-nodes"] {
        assert!(refused.stderr.contains(part), "no {part} in {refused:?}");
    }
    let (mixed, folder) = TestRun::new("Offline").on(&sut).set(settings).args(&["--mixed-nodes"]).finish();
    // It ran; nodes that answer at once may make it too short to be VALID.
    assert!([Some(0), Some(3)].contains(&mixed.code), "{mixed:?}");
    let result = folder.result();
    let marks = result["marks"].to_string();
    assert!(marks.contains("mixed nodes: not a Network result"), "{marks}");
    assert_eq!((&result["sut"][0]["engine"], &result["sut"][0]["settings"]["workers"]), (&"null".into(), &"1".into()));
    assert_eq!(result["sut"][1]["build"]["version"], env!("CARGO_PKG_VERSION"), "{result}");
}

#[test]
fn an_absent_node_is_named() {
    let there = SutNode::start("a", "null", &[]);
    let closed = Closed::new();
    assert_refused(&format!("{},{}", there.address, closed.address), 4, &[&closed.address, "cannot be reached"]);
}

/// After the timeout of a call, which is 5 s. A hang is caught by the fixture.
#[test]
fn a_node_that_accepts_and_says_nothing_is_named() {
    let mute = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = mute.local_addr().unwrap().to_string();
    assert_refused(&address, 4, &[&address]);
}

/// Nothing could be sent to it.
#[test]
fn a_node_whose_bounds_are_0_is_named_with_the_bound() {
    let good = Behaviour::good("odd").bounds;
    for (field, bounds) in [
        ("max_samples_in_flight", StartRunResponse { max_samples_in_flight: 0, ..good.clone() }),
        ("max_bytes_in_flight", StartRunResponse { max_bytes_in_flight: 0, ..good.clone() }),
        ("max_sample_bytes", StartRunResponse { max_sample_bytes: 0, ..good.clone() }),
        ("busy_samples", StartRunResponse { busy_samples: 0, ..good.clone() }),
    ] {
        let peer = Peer::start(Behaviour { bounds, ..Behaviour::good("odd") });
        let address = peer.address.to_string();
        assert_refused(&address, 4, &[&format!("SUT node odd ({address}) returned {field} 0")]);
        assert_eq!(peer.wait_until(|heard| !heard.ends.is_empty()).ends.len(), 1, "it is let go");
    }
}

#[test]
fn a_node_that_knows_no_tenants_is_refused_where_a_model_is_named() {
    let peer = Peer::start(Behaviour::good("old"));
    let (refused, _) = short(&peer.address.to_string()).args(&["--model", "vision"]).finish();
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("has no model 'vision'; it knows no tenants"), "{refused:?}");
}

#[test]
fn two_nodes_of_one_name_are_refused_with_both_addresses() {
    let nodes = [SutNode::start("same", "null", &[]), SutNode::start("same", "null", &[])];
    let sut = format!("{},{}", nodes[0].address, nodes[1].address);
    assert_refused(&sut, 4, &["'same'", &nodes[0].address, &nodes[1].address, "--node"]);
}

#[test]
fn a_name_that_would_fake_a_list_is_refused() {
    let peer = Peer::start(Behaviour::good("a, b"));
    assert_refused(&peer.address.to_string(), 4, &["'a, b'"]);
}

#[test]
fn a_busy_node_says_who_has_it_and_can_be_waited_for() {
    let node = SutNode::start("a", "synthetic:constant=5ms", &[]);
    let (first, first_folder) = long(&node).begin();
    assert_refused(&node.address, 4, &["busy with run", "pid"]);
    let (mut waiting, _folder) = short(&node.address).args(&["--wait-ready", "600s"]).start();
    waiting.wait_for_log("waiting for a busy node");
    assert_undisturbed(first, &first_folder);
    let waited = waiting.finish();
    assert!(matches!(waited.code, Some(0 | 3)), "{waited:?}");
}

/// A run that goes on until it is told to end.
fn long(node: &SutNode) -> TestRun {
    let run = TestRun::new("SingleStream").patient().on(&node.address);
    run.set("min_duration=600s,min_query_count=70,target_latency=1")
}

/// Tells it to end, which is all that speaks against its result.
fn assert_undisturbed(run: LoadGen, folder: &RunFolder) {
    run.signal(Signal::SIGINT);
    let finished = run.finish();
    assert_eq!(finished.code, Some(5), "{finished:?}");
    let result = folder.result();
    assert!(result["counts"]["failed"] == 0 && !result["reasons"].to_string().contains("node"), "{result}");
}

/// A claim without streams lapses after ten seconds, so none may be held while a node is waited for.
#[test]
fn no_claim_is_held_while_another_node_is_busy_for_long() {
    let metrics = free_address();
    let a = SutNode::start("a", "synthetic:constant=5ms", &["--metrics-listen", &metrics]);
    let b = SutNode::start("b", "synthetic:constant=5ms", &[]);
    let (first, first_folder) = long(&b).begin();
    let (mut waiting, _waiting) =
        short(&format!("{},{}", a.address, b.address)).args(&["--wait-ready", "600s"]).start();
    waiting.wait_for_log("waiting for a busy node");
    // Meanwhile others can have the node that is free.
    let (other, _other) = short(&a.address).args(&["--wait-ready", "600s"]).finish();
    assert!(matches!(other.code, Some(0 | 3)), "{other:?}");
    assert_undisturbed(first, &first_folder);
    let waited = waiting.finish();
    assert!(matches!(waited.code, Some(0 | 3)), "{waited:?}");
    assert!(waited.stderr.contains("waiting for a busy node") && waited.stderr.contains("busy with run"), "{waited:?}");
    assert_eq!(Page::at(&metrics).count("lon_sut_runs_ended_total", "end=lapsed"), 0, "no claim was left to lapse");
}

/// All runs get the nodes, in any order of the nodes in `--sut`.
#[test]
fn all_who_want_the_same_nodes_get_them_one_after_the_other() {
    let nodes = ["a", "b", "c"].map(|name| SutNode::start(name, "synthetic:constant=5ms", &[]));
    let [a, b, c] = nodes.each_ref().map(|node| node.address.as_str());
    let orders = [[a, b, c], [c, b, a], [b, c, a], [c, a, b]];
    let runs: Vec<_> =
        orders.iter().map(|order| short(&order.join(",")).args(&["--wait-ready", "600s"]).start()).collect();
    for (run, _folder) in runs {
        let finished = run.finish();
        assert!(matches!(finished.code, Some(0 | 3)), "{finished:?}");
    }
}

#[test]
fn a_node_that_comes_later_can_be_waited_for() {
    // A port that the system gives to no connection: this run's own would be connected with itself.
    let address = free_address();
    let (run, _folder) = short(&address).args(&["--wait-ready", "600s"]).start();
    let _node = SutNode::start_on(&address, "late", "null", &[]);
    let finished = run.finish();
    assert!(matches!(finished.code, Some(0 | 3)), "{finished:?}");
}
