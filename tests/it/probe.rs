//! The command `probe` as a daily tool: sweeps, baselines, a watch, and what rates need.
//!
//! Links of a known rate need a [`Fabric`]; what is said about one is compared with what iperf3 carries on it.

mod between;

use std::time::Duration;

use lon_tests::fabric::{Fabric, FabricSpec, Host};
use lon_tests::iperf::{self, Direction};
use lon_tests::json::Json;
use lon_tests::process::{Finished, LoadGen, SutNode};
use lon_tests::schemas;
use lon_tests::stats::medians_within;
use nix::sys::signal::Signal;

fn probe(from: &Host, sut: &str, more: &[&str]) -> Finished {
    let flags = ["probe", "--sut", sut, "--insecure", "--json", "--transport", "tcp"];
    LoadGen::start_in(from, &[], &[&flags[..], more].concat()).finish()
}

fn json(finished: &Finished) -> Json {
    Json::parse("probe --json", &finished.stdout)
}

/// On loopback: what a probe says beside goodput, and what a sweep and `--require` add.
#[test]
fn a_probe_says_what_both_ends_spent_and_what_rates_need() {
    let node = SutNode::start("a", "null", &[]);
    let flags = ["probe", "--sut", &node.address, "--json", "--duration", "300ms", "--connections", "2,1"];
    let more =
        ["--sizes", "64,4KiB", "--repeats", "2", "--rules", "v5.0", "--require", "resnet50=10", "--dtypes", "f32"];
    let finished = LoadGen::run(&[&flags[..], &more].concat());
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let said = json(&finished);
    let node = said.at("/nodes/0");
    let tried: Vec<u64> = node.items("/by_connections").iter().map(|tried| tried.count("/connections")).collect();
    assert_eq!(tried, [1, 2], "{said}");
    assert!(tried.contains(&node.count("/fills_with")), "{said}");
    assert_eq!(node.items("/rtt_ns").len(), 2, "{said}");
    for end in ["loadgen", "sut"] {
        assert!(node.number(&format!("/{end}/cpu_s_per_gb/up")) > 0.0, "{said}");
        assert!(node.count(&format!("/{end}/segment_bytes")) > 1000, "{said}");
        assert!(!node.text(&format!("/{end}/congestion_control")).is_empty(), "{said}");
        assert!(node.is_null(&format!("/{end}/interface")), "loopback: {said}");
    }
    assert!(node.items("/goodput_repeats_gbit_s/up").len() >= 2, "{said}");
    assert_eq!(node.items("/goodput_interval_gbit_s/up").len(), 2, "{said}");
    let need = said.at("/needs/by_codec/0");
    assert_eq!(need.text("/codec"), "none", "{said}");
    assert!(need.items("/limits")[0].number("/share") > 1.0, "ten pictures a second are few: {said}");
    let carried = said.items("/carries");
    let f32s = carried.iter().filter(|row| row.text("/benchmark") == "resnet50" && !row.is_null("/dtype")).count();
    assert_eq!(f32s, 1, "{said}");
}

/// Up to the largest that is taken, over every transport.
#[test]
fn requests_of_many_parts_are_measured() {
    let node = SutNode::start("a", "null", &[]);
    let flags = ["probe", "--sut", &node.address, "--json", "--duration", "200ms", "--sizes", "1049592,16MiB"];
    let finished = LoadGen::run(&[&flags[..], &["--transport", "all"]].concat());
    assert_eq!(finished.code, Some(0), "{finished:?}");
    assert_eq!(json(&finished).at("/nodes/0").items("/rtt_ns").len(), 2, "{finished:?}");
}

/// The three transports of SUT nodes, each with its own numbers.
#[test]
fn all_transports_are_probed_one_after_the_other() {
    let node = SutNode::start("a", "null", &[]);
    let flags = ["probe", "--sut", &node.address, "--json", "--duration", "200ms", "--sizes", "64"];
    let finished = LoadGen::run(&[&flags[..], &["--transport", "all"]].concat());
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let said = json(&finished);
    let others: Vec<String> = said.items("/other_transports").iter().map(|other| other.text("/transport")).collect();
    assert_eq!((said.text("/transport"), others), ("grpc".into(), vec!["tcp".to_owned(), "quic".to_owned()]));
}

/// A line an interval, and the sum when the user has seen enough.
#[test]
fn a_watch_goes_on_until_it_is_told_to_stop() {
    let node = SutNode::start("a", "null", &[]);
    let watch = LoadGen::start(&["probe", "--sut", &node.address, "--watch", "1s", "--json"]);
    std::thread::sleep(Duration::from_secs(6));
    watch.signal(Signal::SIGINT);
    let finished = watch.finish();
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let lines: Vec<Json> = finished.stdout.lines().map(|line| Json::parse("a line of --watch", line)).collect();
    let (sum, intervals) = lines.split_last().unwrap();
    for (number, line) in finished.stdout.lines().enumerate() {
        let kind = if number == intervals.len() { "probe_watch_sum" } else { "probe_watch" };
        schemas::assert_fits(&[kind], line);
    }
    assert!(!intervals.is_empty(), "{finished:?}");
    assert_eq!(sum.count("/intervals"), intervals.len() as u64, "{finished:?}");
    // On a busy machine an interval may have too little to say.
    assert!(intervals.iter().any(|interval| !interval.is_null("/up_gbit_s")), "{finished:?}");
    assert!(sum.number("/up_gbit_s/mean") > 0.0 && sum.is_null("/ended_early"), "{finished:?}");
}

/// What cannot be a baseline is refused before anything is measured.
#[test]
fn files_are_looked_at_before_the_probe() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("base.json");
    std::fs::write(&file, "{}").unwrap();
    let path = file.to_str().unwrap();
    for (flag, told) in [("--save", "it is there already"), ("--against", "no file of probe --save")] {
        let finished = LoadGen::run(&["probe", "--sut", "127.0.0.1:9", flag, path]);
        assert!(finished.code == Some(2) && finished.stderr.contains(told), "{finished:?}");
    }
}

/// How often a degraded and an unchanged link are tried: 3 times each, or as often as the variable says.
fn tries() -> usize {
    std::env::var("LON_TEST_PROBE_TRIES").ok().and_then(|tries| tries.parse().ok()).unwrap_or(3)
}

/// A link whose rate is cut by a fifth is found, and said to be a link; one that is as it was passes.
#[test]
#[ignore = "needs root and network namespaces"]
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
#[ignore = "needs root and network namespaces"]
fn an_asymmetric_link_is_seen_as_one() {
    let fabric = Fabric::new(FabricSpec { hosts: 2, rate_mbit_s: Some(400) });
    let (near, far) = (fabric.host(0), fabric.host(1));
    fabric.reshape_ways(near, [400, 100]);
    let node = SutNode::start_in(far, "a", "null", &[]);
    let ratios = || {
        let link = [Direction::Up, Direction::Down].map(|direction| iperf::goodput_bits_per_s(near, far, direction, 1));
        let finished = probe(near, &node.address, &["--duration", "1s", "--sizes", "64"]);
        assert_eq!(finished.code, Some(0), "{finished:?}");
        let said = json(&finished);
        let [up, down] = ["up", "down"].map(|key| said.number(&format!("/nodes/0/goodput_gbit_s/{key}")) * 1e9);
        assert!(down > 3.0 * up, "{said}");
        [up / link[0], down / link[1]]
    };
    assert_eq!(medians_within(0.97..=1.03, 3, ratios), Ok(()), "of what iperf3 carried");
}

/// Several connections carry what as many streams of iperf3 do, and one of them is enough for a shaped link.
#[test]
#[ignore = "needs root and network namespaces"]
fn a_sweep_of_connections_agrees_with_as_many_streams_of_iperf3() {
    let fabric = Fabric::new(FabricSpec { hosts: 2, rate_mbit_s: Some(200) });
    let (near, far) = (fabric.host(0), fabric.host(1));
    let node = SutNode::start_in(far, "a", "null", &[]);
    let ratios = || {
        let link = [1, 4].map(|streams| iperf::goodput_of_streams_bits_per_s(near, far, Direction::Up, 1, streams));
        let finished = probe(near, &node.address, &["--duration", "1s", "--sizes", "64", "--connections", "1,4"]);
        assert_eq!(finished.code, Some(0), "{finished:?}");
        let said = json(&finished);
        let tried = said.items("/nodes/0/by_connections");
        let [one, four] = [0, 1].map(|at| tried[at].number("/up_gbit_s") * 1e9 / link[at]);
        // In most rounds: a single measurement of a second scatters by more than the difference that counts.
        [one, four, said.number("/nodes/0/fills_with")]
    };
    assert_eq!(medians_within(0.97..=1.03, 3, ratios), Ok(()), "of what iperf3 carried");
}
