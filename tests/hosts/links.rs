//! Runs over links of a known rate, between hosts that are network namespaces.

use lon_tests::fabric::{FRAME_BYTES, Fabric, FabricSpec};
use lon_tests::iperf::{self, Direction};
use lon_tests::json::Json;
use lon_tests::process::{SutNode, sut};
use lon_tests::stats::medians_within;
use lon_tests::test_run::TestRun;
use serde_json::Value;

/// A fabric of Fast Ethernet, by its speed.
fn slow_fabric(hosts: usize) -> Fabric {
    Fabric::new(FabricSpec { hosts, rate_mbit_s: Some(100) })
}

#[test]
#[ignore = ".ci/run links"]
fn a_link_carries_its_rate_in_both_directions() {
    let fabric = slow_fabric(2);
    let before = fabric.host(0).counters();
    for direction in [Direction::Up, Direction::Down] {
        let mbit_s = iperf::goodput_bits_per_s(fabric.host(0), fabric.host(1), direction, 2) / 1e6;
        assert!((90.0..=100.0).contains(&mbit_s), "{direction:?}: {mbit_s} Mbit/s");
    }
    // Two seconds each way; what the other end saw is what this end sent.
    let (near, far) = (fabric.host(0).counters().since(before), fabric.host(1).counters());
    assert!(near.tx_bytes > 20_000_000 && near.rx_bytes > 20_000_000, "{near:?}");
    assert!(far.rx_bytes.abs_diff(near.tx_bytes) < near.tx_bytes / 100, "{near:?} {far:?}");
}

#[test]
#[ignore = ".ci/run links"]
fn packets_are_those_of_the_wire_when_offload_is_off() {
    let fabric = slow_fabric(2);
    let mean_bytes = || {
        let before = fabric.host(0).counters();
        iperf::goodput_bits_per_s(fabric.host(0), fabric.host(1), Direction::Up, 1);
        let counters = fabric.host(0).counters().since(before);
        counters.tx_bytes / counters.tx_packets
    };
    let with = mean_bytes();
    fabric.hosts().iter().for_each(lon_tests::fabric::Host::offload_off);
    let without = mean_bytes();
    assert!(with > FRAME_BYTES, "segments are cut behind the interface: {with} bytes a packet");
    assert!((FRAME_BYTES * 9 / 10..=FRAME_BYTES).contains(&without), "{without} bytes a packet");
}

#[test]
#[ignore = ".ci/run links"]
fn nothing_of_a_fabric_is_seen_outside_or_left_behind() {
    let interfaces =
        || -> Vec<_> { std::fs::read_dir("/sys/class/net").unwrap().map(|e| e.unwrap().file_name()).collect() };
    let before = interfaces();
    let fabric = Fabric::new(FabricSpec { hosts: 6, rate_mbit_s: None });
    assert_eq!(interfaces(), before);
    let of_it = format!("lon-lab-{}-", fabric.name());
    let namespaces = || {
        let listed = std::process::Command::new("ip").args(["netns", "list"]).output().unwrap();
        String::from_utf8(listed.stdout).unwrap().matches(&of_it).count()
    };
    assert_eq!(namespaces(), 7, "hosts and the switch");
    let node = SutNode::start_in(fabric.host(5), "a", "null", &[]);
    drop(fabric);
    assert_eq!(namespaces(), 0);
    assert_eq!(node.wait(), None, "a process that was still there was ended by a signal");
    assert_eq!(interfaces(), before);
}

fn rate_samples_per_s(result: &Value) -> f64 {
    assert_eq!(result["metric"]["unit"], "samples/s", "{result}");
    result["metric"]["value"].as_f64().unwrap()
}

/// The link carries as much for a workload as it carries at all.
#[test]
#[ignore = ".ci/run links"]
fn offline_fills_the_link() {
    const SAMPLE_BYTES: f64 = 150_528.0;
    let fabric = slow_fabric(2);
    let node = SutNode::start_in(fabric.host(1), "a", "null", &[]);
    // In turns, so that a machine that is busy for a while is busy for both.
    let ratio = || {
        let link = iperf::goodput_bits_per_s(fabric.host(0), fabric.host(1), Direction::Up, 2);
        let test = TestRun::new("Offline").inside(fabric.host(0)).on(&node.address);
        let test = test.dataset("synthetic:u8[150528]x64").set("target_qps=80,min_duration=3000,min_query_count=1");
        let (finished, folder) = test.finish();
        assert_eq!(finished.code, Some(0), "{finished:?}");
        [rate_samples_per_s(&folder.result()) * SAMPLE_BYTES * 8.0 / link]
    };
    assert_eq!(medians_within(0.95..1.05, 5, ratio), Ok(()), "of what iperf3 carried");
}

#[test]
#[ignore = ".ci/run links"]
fn three_sut_hosts_share_a_run() {
    let fabric = slow_fabric(4);
    let nodes = [1, 2, 3].map(|host| SutNode::start_in(fabric.host(host), &format!("n{host}"), "null", &[]));
    let sut = sut(&nodes);
    for transport in ["grpc", "tcp", "quic"] {
        let test = TestRun::new("Offline").inside(fabric.host(0)).on(&sut).args(&["--transport", transport]);
        let test = test.dataset("synthetic:u8[15000]x64").set("target_qps=700,min_duration=1000,min_query_count=1");
        let (finished, folder) = test.finish();
        // The test accepts a run that is shorter than it should be: its length on this link is another matter.
        assert!(matches!(finished.code, Some(0 | 3)), "{transport}: {finished:?}");
        folder.assert_complete();
        let result = folder.result();
        assert_eq!(result["sut_name"], "Network SUT: n1, n2, n3");
        assert_eq!(result["counts"]["issued"], result["counts"]["completed"], "{transport}: {result}");
        for node in result["network"]["nodes"].as_array().unwrap() {
            let bytes = &node["message_bytes"];
            assert_eq!(bytes["ingress"]["loadgen"], bytes["ingress"]["sut"], "{transport}: {result}");
            assert_eq!(bytes["egress"]["loadgen"], bytes["egress"]["sut"], "{transport}: {result}");
            assert!(node["samples"].as_u64().unwrap() > 0, "{transport}: {result}");
        }
    }
}

/// Nothing is closed or reset when a cable is pulled: only silence tells.
#[test]
#[ignore = ".ci/run links"]
fn a_link_that_is_cut_ends_the_run_with_exit_4_and_complete_files() {
    for transport in ["grpc", "tcp", "quic"] {
        let fabric = slow_fabric(3);
        let nodes = [1, 2].map(|host| SutNode::start_in(fabric.host(host), &format!("n{host}"), "null", &[]));
        let sut = sut(&nodes);
        let test = TestRun::new("Server").inside(fabric.host(0)).on(&sut).args(&["--transport", transport]);
        let (run, folder) = test.set("target_qps=500,min_duration=60000").begin();
        fabric.cut(fabric.host(2));
        let finished = run.finish();
        assert_eq!(finished.code, Some(4), "{transport}: {finished:?}");
        folder.assert_complete();
        let result = folder.result();
        assert_eq!(result["result"], "INVALID");
        let reasons = result["reasons"].to_string();
        assert!(
            reasons.contains("node n2 was lost") && !reasons.contains("node n1 was lost"),
            "{transport}: {reasons}"
        );
        assert!(!result["sut_name"].as_str().unwrap().contains("Network SUT"), "{transport}: {result}");
    }
}

#[test]
#[ignore = ".ci/run links"]
fn the_system_description_has_the_interfaces_that_the_run_used() {
    let fabric = Fabric::new(FabricSpec { hosts: 3, rate_mbit_s: None });
    let nodes = [1, 2].map(|host| SutNode::start_in(fabric.host(host), &format!("n{host}"), "null", &[]));
    let sut = format!("{},{}", nodes[0].address, nodes[1].address);
    let (finished, folder) =
        TestRun::new("Offline").inside(fabric.host(0)).on(&sut).set("target_qps=50,min_duration=0").finish();
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let desc = Json::read(&folder.path.join("system_desc.json"));
    assert_eq!((desc.text("/number_nic_loadgen"), desc.text("/number_nic_sut")), ("1".into(), "2".into()));
    assert_eq!(desc.text("/network_type"), "Ethernet");
    // The kernel reports these values for its virtual pairs.
    assert!(desc.text("/network_rate").ends_with("Gbit/s"), "{desc}");
    assert!(desc.text("/nic_sut").contains("MTU 1500") && desc.text("/nic_loadgen").contains("MTU 1500"), "{desc}");
    assert_eq!(desc.items("/sut/0/nics_used").len(), 1);
}
