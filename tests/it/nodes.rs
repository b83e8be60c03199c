//! Nodes that cannot be used: named, with the address, within seconds, and nothing is left behind.

use std::time::Instant;

use lon_tests::peer::{Manners, Peer};
use lon_tests::process::SutNode;
use lon_tests::test_run::TestRun;

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

#[test]
fn an_absent_node_is_named() {
    let there = SutNode::start("a", "null", &[]);
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    assert_refused(&format!("{},{free}", there.address), 4, &[&free, "cannot be reached"]);
}

#[test]
fn a_node_that_accepts_and_says_nothing_is_named_within_seconds() {
    let mute = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = mute.local_addr().unwrap().to_string();
    let started = Instant::now();
    assert_refused(&address, 4, &[&address]);
    // Far beyond the call's own timeout of 5 s; a hang is caught long before by the fixture.
    assert!(started.elapsed().as_secs() < 60);
}

#[test]
fn two_nodes_of_one_name_are_refused_with_both_addresses() {
    let nodes = [SutNode::start("same", "null", &[]), SutNode::start("same", "null", &[])];
    let sut = format!("{},{}", nodes[0].address, nodes[1].address);
    assert_refused(&sut, 4, &["'same'", &nodes[0].address, &nodes[1].address, "--node"]);
}

#[test]
fn another_wire_version_is_named() {
    let peer = Peer::start(Manners { wire_version: 2, ..Manners::good("new") });
    assert_refused(&peer.address.to_string(), 4, &["wire version 2", "lon.v1"]);
}

#[test]
fn a_node_that_returns_another_nonce_is_not_trusted() {
    let peer = Peer::start(Manners { honest_nonce: false, ..Manners::good("liar") });
    assert_refused(&peer.address.to_string(), 4, &["nonce"]);
}

#[test]
fn a_name_that_would_fake_a_list_is_refused() {
    let peer = Peer::start(Manners::good("a, b"));
    assert_refused(&peer.address.to_string(), 4, &["'a, b'"]);
}

#[test]
fn a_busy_node_says_who_has_it_and_can_be_waited_for() {
    let node = SutNode::start("a", "synthetic:constant=5ms", &[]);
    let long = TestRun::new("SingleStream").on(&node.address);
    let (first, _first) = long.set("min_duration=3000,min_query_count=70,target_latency=1").begin();
    assert_refused(&node.address, 4, &["busy with run", "pid"]);
    let (waited, _folder) = short(&node.address).args(&["--wait-ready", "60s"]).finish();
    assert_eq!(first.finish().code, Some(0));
    assert!(matches!(waited.code, Some(0 | 3)), "{waited:?}");
}

#[test]
fn a_node_that_comes_later_can_be_waited_for() {
    let address = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let (run, _folder) = short(&address).args(&["--wait-ready", "60s"]).start();
    let _node = SutNode::start_on(&address, "late", "null", &[]);
    let finished = run.finish();
    assert!(matches!(finished.code, Some(0 | 3)), "{finished:?}");
}
