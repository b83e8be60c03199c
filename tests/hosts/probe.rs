//! The command `probe` on links of a known rate: what it says is compared with what iperf3 carries on them.

use std::time::Duration;

use lon_tests::fabric::{Fabric, FabricSpec, Host};
use lon_tests::iperf::{self, Direction};
use lon_tests::json::Json;
use lon_tests::probe::{args, json};
use lon_tests::process::{Finished, LoadGen, SutNode, sut};
use lon_tests::route::TRANSPORTS;
use lon_tests::stats::medians_within;
use lon_tests::test_run::{TestRun, went_well};
use lon_tests::traffic::{IMAGE_BYTES, bytes};

fn fabric(hosts: usize, rate_mbit_s: u32) -> Fabric {
    Fabric::new(FabricSpec { hosts, rate_mbit_s: Some(rate_mbit_s) })
}

fn probe_over(from: &Host, sut: &str, transport: &str) -> Json {
    let finished = LoadGen::start_in(from, &[], &args(sut, transport)).finish();
    assert_eq!(finished.code, Some(0), "{transport}: {finished:?}");
    Json::parse("probe --json", &finished.stdout)
}

fn probe(from: &Host, sut: &str, more: &[&str]) -> Finished {
    let flags = ["probe", "--sut", sut, "--insecure", "--json", "--transport", "tcp"];
    LoadGen::start_in(from, &[], &[&flags[..], more].concat()).finish()
}

/// Up and down, over every transport.
fn assert_agrees_with_iperf3(rate_mbit_s: u32) {
    let fabric = fabric(2, rate_mbit_s);
    let (near, far) = (fabric.host(0), fabric.host(1));
    let node = SutNode::start_in(far, "a", "null", &[]);
    for transport in TRANSPORTS {
        // In turns, so that a machine that is busy for a while is busy for both.
        let ratios = || {
            let link =
                [Direction::Up, Direction::Down].map(|direction| iperf::goodput_bits_per_s(near, far, direction, 1));
            let document = probe_over(near, &node.address, transport);
            let rates = ["up", "down"].map(|key| document.number(&format!("/nodes/0/goodput_gbit_s/{key}")) * 1e9);
            [rates[0] / link[0], rates[1] / link[1]]
        };
        let verdict = medians_within(0.97..=1.03, 5, ratios);
        assert_eq!(verdict, Ok(()), "{rate_mbit_s} Mbit/s, {transport}");
    }
}

#[test]
#[ignore = ".ci/run links"]
fn a_probe_says_what_iperf3_says_of_100_mbit_s() {
    assert_agrees_with_iperf3(100);
}

#[test]
#[ignore = ".ci/run links"]
fn a_probe_says_what_iperf3_says_of_1_gbit_s() {
    assert_agrees_with_iperf3(1000);
}

#[test]
#[ignore = ".ci/run links"]
fn a_probe_of_three_nodes_says_what_one_link_carries_to_all() {
    let fabric = fabric(4, 100);
    let nodes = [1, 2, 3].map(|host| SutNode::start_in(fabric.host(host), &format!("n{host}"), "null", &[]));
    let sut = sut(&nodes);
    let document = probe_over(fabric.host(0), &sut, "grpc");
    assert_eq!(document.items("/nodes").len(), 3, "{document}");
    for node in document.items("/nodes") {
        for key in ["up", "down", "both"] {
            assert!(node.number(&format!("/goodput_gbit_s/{key}")) > 0.05, "{document}");
        }
        for sizes in node.items("/rtt_ns") {
            let [p50, p90, p99] = ["/p50", "/p90", "/p99"].map(|p| sizes.count(p));
            assert!(0 < p50 && p50 <= p90 && p90 <= p99, "{document}");
        }
        // A queue of 25 ms stands in front of a saturated link.
        let idle = node.items("/rtt_ns")[0].count("/p50");
        assert!(node.count("/loaded_rtt_ns/p50") > idle, "{document}");
    }
    // The LoadGen node's own link bounds them together.
    let together = document.number("/together/goodput_gbit_s/up");
    assert!((0.08..0.1).contains(&together), "{document}");
}

/// The required, the carried, the probed and the claimed rates are figures of one link, and agree.
#[test]
#[ignore = ".ci/run links"]
fn a_run_with_a_probe_says_what_it_required_and_what_the_link_carried() {
    let fabric = fabric(2, 100);
    let (near, far) = (fabric.host(0), fabric.host(1));
    let node = SutNode::start_in(far, "a", "null", &[]);
    let mut last_run = None;
    let ratios = || {
        let link_gbit_s = iperf::goodput_bits_per_s(near, far, Direction::Up, 2) / 1e9;
        let test = TestRun::of("resnet50", "Offline").args(&["--dataset", "synthetic:u8[3,224,224]x64", "--probe"]);
        let test = test.inside(near).on(&node.address).set("target_qps=80,min_duration=3000,min_query_count=1");
        let (finished, folder) = went_well(test, "resnet50");
        let report = folder.network_report();
        let [probed, carried] =
            ["probed", "carried"].map(|what| report.number(&format!("/bandwidth_gbit_s/{what}/ingress")) / link_gbit_s);
        last_run = Some((finished, folder, report));
        [probed, carried]
    };
    // To the per cent: another test.
    assert_eq!(medians_within(0.95..=1.05, 5, ratios), Ok(()), "probed and carried, of what iperf3 carried");
    let (finished, folder, report) = last_run.unwrap();
    let bandwidth = report.at("/bandwidth_gbit_s");
    let required = bandwidth.number("/required/ingress");
    let needed = folder.result()["metric"]["value"].as_f64().unwrap() * IMAGE_BYTES * 8.0 / 1e9;
    assert!((0.99..=1.01).contains(&(required / needed)), "by the formula {needed}: {bandwidth}");
    assert!(!bandwidth.text("/verdict").is_empty(), "{bandwidth}");
    for word in ["required", "carried", "probed", "claim"] {
        assert!(finished.stdout.to_lowercase().contains(word), "no '{word}' in:\n{}", finished.stdout);
    }
    // Every second of the run, and nothing lost between them.
    let seconds = report.items("/per_second/message_ingress");
    let total: u64 = seconds.iter().map(|second| second.count("")).sum();
    let message = bytes(&report.at("/nodes/0"), "message", "ingress", "loadgen");
    assert!(total.abs_diff(message) <= message / 100, "{total} in all seconds, {message} in the run: {report}");
}

/// Returns the number of tries for a degraded and for an unchanged link: 3 each, or the number in the variable.
fn tries() -> usize {
    std::env::var("LON_TEST_PROBE_TRIES").ok().and_then(|tries| tries.parse().ok()).unwrap_or(3)
}

/// A link whose rate is cut by a fifth is found, and said to be a link; one that is as it was passes.
#[test]
#[ignore = ".ci/run links"]
fn a_degraded_link_is_found_and_an_unchanged_one_passes() {
    const RATE_MBIT_S: u32 = 200;
    let fabric = Fabric::new(FabricSpec { hosts: 2, rate_mbit_s: Some(RATE_MBIT_S) });
    let (near, far) = (fabric.host(0), fabric.host(1));
    let node = SutNode::start_in(far, "a", "null", &[]);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("base.json");
    let base = file.to_str().unwrap();
    let short = ["--duration", "300ms", "--sizes", "64", "--repeats", "3"];
    let saved = probe(near, &node.address, &[&short[..], &["--save", base]].concat());
    assert_eq!(saved.code, Some(0), "{saved:?}");
    let against = || probe(near, &node.address, &[&short[..], &["--against", base]].concat());
    for number in 0..tries() {
        let same = against();
        assert_eq!(same.code, Some(0), "try {number} of an unchanged link: {}", json(&same).at("/against"));
    }
    fabric.reshape(far, Some(RATE_MBIT_S * 8 / 10));
    for number in 0..tries() {
        let cut = against();
        assert_eq!(cut.code, Some(3), "try {number} of a degraded link: {}", json(&cut).at("/against"));
        let change = json(&cut).at("/against/changes/0");
        assert_eq!((change.text("/kind"), change.text("/node")), ("worse".into(), "a".into()), "{change}");
        assert_eq!(change.text("/likely/place"), "link", "{change}");
        assert!((-26.0..-14.0).contains(&change.number("/change_percent")), "{change}");
    }
}

/// Up and down are told apart on a link that is not the same both ways, and agree with iperf3.
#[test]
#[ignore = ".ci/run links"]
fn an_asymmetric_link_is_seen_as_one() {
    let fabric = Fabric::new(FabricSpec { hosts: 2, rate_mbit_s: Some(400) });
    let (near, far) = (fabric.host(0), fabric.host(1));
    fabric.reshape_ways(near, [400, 100]);
    let node = SutNode::start_in(far, "a", "null", &[]);
    let ratios = || {
        let link = [Direction::Up, Direction::Down].map(|direction| iperf::goodput_bits_per_s(near, far, direction, 1));
        let finished = probe(near, &node.address, &["--duration", "1s", "--sizes", "64"]);
        assert_eq!(finished.code, Some(0), "{finished:?}");
        let document = json(&finished);
        let [up, down] = ["up", "down"].map(|key| document.number(&format!("/nodes/0/goodput_gbit_s/{key}")) * 1e9);
        assert!(down > 3.0 * up, "{document}");
        [up / link[0], down / link[1]]
    };
    assert_eq!(medians_within(0.97..=1.03, 3, ratios), Ok(()), "of what iperf3 carried");
}

/// Several connections carry what as many streams of iperf3 do, and one of them is enough for a shaped link.
#[test]
#[ignore = ".ci/run links"]
fn a_sweep_of_connections_agrees_with_as_many_streams_of_iperf3() {
    // Of one second the start of four streams of iperf3 is a twentieth.
    const SECONDS: u32 = 2;
    let fabric = Fabric::new(FabricSpec { hosts: 2, rate_mbit_s: Some(200) });
    let (near, far) = (fabric.host(0), fabric.host(1));
    let node = SutNode::start_in(far, "a", "null", &[]);
    let ratios = || {
        let link =
            [1, 4].map(|streams| iperf::goodput_of_streams_bits_per_s(near, far, Direction::Up, SECONDS, streams));
        let finished = probe(near, &node.address, &["--duration", "2s", "--sizes", "64", "--connections", "1,4"]);
        assert_eq!(finished.code, Some(0), "{finished:?}");
        let document = json(&finished);
        let tried = document.items("/nodes/0/by_connections");
        let [one, four] = [0, 1].map(|at| tried[at].number("/up_gbit_s") * 1e9 / link[at]);
        // In most rounds: a single measurement of a second scatters by more than the difference that counts.
        [one, four, document.number("/nodes/0/fills_with")]
    };
    assert_eq!(medians_within(0.97..=1.03, 3, ratios), Ok(()), "of what iperf3 carried");
}

#[test]
#[ignore = ".ci/run links"]
fn a_link_that_is_cut_during_a_probe_names_the_node() {
    for transport in TRANSPORTS {
        let fabric = Fabric::new(FabricSpec { hosts: 2, rate_mbit_s: Some(100) });
        let (near, far) = (fabric.host(0), fabric.host(1));
        let node = SutNode::start_in(far, "gone", "null", &[]);
        let probe = LoadGen::start_in(near, &[], &args(&node.address, transport));
        // Well under way: no conversation about the probe takes a megabyte.
        while near.counters().tx_bytes < 1_000_000 {
            std::thread::sleep(Duration::from_millis(10));
        }
        fabric.cut(far);
        let finished = probe.finish();
        assert_eq!(finished.code, Some(4), "{transport}: {finished:?}");
        assert!(finished.stderr.contains("gone"), "{transport}: {finished:?}");
    }
}
