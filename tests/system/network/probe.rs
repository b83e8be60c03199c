//! The command `probe` as a daily tool: sweeps, baselines, a watch, and what rates need.

use lon_tests::json::Json;
use lon_tests::probe::{args, json};
use lon_tests::process::{LoadGen, SutNode};
use lon_tests::schemas;
use lon_tests::test_run::TestRun;
use nix::sys::signal::Signal;

/// On loopback: what a probe says beside goodput, and what a sweep and `--require` add.
#[test]
fn a_probe_says_what_both_ends_spent_and_what_rates_need() {
    let node = SutNode::start("a", "null", &[]);
    let flags = ["probe", "--sut", &node.address, "--json", "--duration", "300ms", "--connections", "2,1"];
    let more =
        ["--sizes", "64,4KiB", "--repeats", "2", "--rules", "v5.0", "--require", "resnet50=10", "--dtypes", "f32"];
    let finished = LoadGen::run(&[&flags[..], &more].concat());
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let document = json(&finished);
    let node = document.at("/nodes/0");
    let tried: Vec<u64> = node.items("/by_connections").iter().map(|tried| tried.count("/connections")).collect();
    assert_eq!(tried, [1, 2], "{document}");
    assert_eq!(node.items("/rtt_ns").len(), 2, "{document}");
    for end in ["loadgen", "sut"] {
        assert!(node.count(&format!("/{end}/segment_bytes")) > 1000, "{document}");
        assert!(!node.text(&format!("/{end}/congestion_control")).is_empty(), "{document}");
        assert!(node.is_null(&format!("/{end}/interface")), "loopback: {document}");
    }
    // On a busy machine too little may come in 300 ms to say what a rate is. That it is what others measure, tests of
    // `bandwidth` say.
    if ["up", "down", "both"].iter().any(|key| node.is_null(&format!("/goodput_gbit_s/{key}"))) {
        return;
    }
    assert!(tried.contains(&node.count("/fills_with")), "{document}");
    for end in ["loadgen", "sut"] {
        assert!(node.number(&format!("/{end}/cpu_s_per_gb/up")) > 0.0, "{document}");
    }
    assert!(node.items("/goodput_repeats_gbit_s/up").len() >= 2, "{document}");
    assert_eq!(node.items("/goodput_interval_gbit_s/up").len(), 2, "{document}");
    let need = document.at("/needs/by_codec/0");
    assert_eq!(need.text("/codec"), "none", "{document}");
    assert!(need.items("/limits")[0].number("/share") > 1.0, "ten pictures a second are few: {document}");
    let carried = document.items("/carries");
    let f32s = carried.iter().filter(|row| row.text("/benchmark") == "resnet50" && !row.is_null("/dtype")).count();
    assert_eq!(f32s, 1, "{document}");
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
    let document = json(&finished);
    let others: Vec<String> =
        document.items("/other_transports").iter().map(|other| other.text("/transport")).collect();
    assert_eq!((document.text("/transport"), others), ("grpc".into(), vec!["tcp".to_owned(), "quic".to_owned()]));
}

/// A line an interval, and the sum when the user has seen enough.
#[test]
fn a_watch_goes_on_until_it_is_told_to_stop() {
    let node = SutNode::start("a", "null", &[]);
    let mut watch = LoadGen::start(&["probe", "--sut", &node.address, "--watch", "1s", "--json"]);
    // On a busy machine an interval may have too little to say.
    watch.wait_for_line(|line| !Json::parse("a line of --watch", line).is_null("/up_gbit_s"));
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
    assert!(intervals.iter().any(|interval| !interval.is_null("/up_gbit_s")), "{finished:?}");
    assert!(sum.number("/up_gbit_s/mean") > 0.0 && sum.is_null("/ended_early"), "{finished:?}");
}

/// A file that cannot be a baseline is refused before anything is measured.
#[test]
fn files_are_looked_at_before_the_probe() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("base.json");
    std::fs::write(&file, "{}").unwrap();
    let path = file.to_str().unwrap();
    for (flag, message) in [("--save", "the file exists; choose a new name"), ("--against", "no file of probe --save")]
    {
        let finished = LoadGen::run(&["probe", "--sut", "127.0.0.1:9", flag, path]);
        assert!(finished.code == Some(2) && finished.stderr.contains(message), "{finished:?}");
    }
}

/// A baseline of another transport is refused without a node; `compare` names the command for baselines; a rate that
/// no codec makes the fabric carry is exit code 3.
#[test]
fn a_baseline_and_a_required_rate_are_judged() {
    let node = SutNode::start("a", "null", &[]);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("base.json");
    let path = file.to_str().unwrap();
    let flags = ["probe", "--sut", &node.address, "--transport", "tcp", "--duration", "0.2", "--sizes", "64"];
    let more = ["--save", path, "--repeats", "1", "--rules", "v5.0", "--codecs", "none"];
    let finished = LoadGen::run(&[&flags[..], &more, &["--require", "resnet50=1000000000"]].concat());
    assert_eq!(finished.code, Some(3), "{finished:?}");
    for part in ["Capacity of this fabric over tcp", "over tcp\n  without a codec: NOT carried", "(TCP over MTU 1500)"]
    {
        assert!(finished.stdout.contains(part), "no '{part}' in {}", finished.stdout);
    }
    assert!(finished.stderr.contains("of 3 repeats"), "a warning: {}", finished.stderr);
    let saved = format!("Saved {path}, ");
    assert!(finished.stdout.lines().last().unwrap().starts_with(&saved), "the last line: {}", finished.stdout);
    let other = LoadGen::run(&["probe", "--sut", "127.0.0.1:9", "--transport", "quic", "--against", path]);
    assert!(other.code == Some(2) && other.stderr.contains("has transport tcp, this probe quic"), "{other:?}");
    let wider = ["probe", "--sut", "127.0.0.1:9", "--transport", "tcp", "--against", path, "--connections", "1,4"];
    let wider = LoadGen::run(&wider);
    let message = "was saved with --connections 1 --duration 0.2s, this probe has --connections 1,4 --duration 2s";
    assert!(wider.code == Some(2) && wider.stderr.contains(message), "{wider:?}");
    let compared = LoadGen::run(&["compare", path, path]);
    assert!(compared.code == Some(2) && compared.stderr.contains("`probe --against"), "{compared:?}");
    // With too few repeats nothing is shown to be worse, and nothing passes.
    let against = LoadGen::run(&[&flags[..], &["--against", path, "--repeats", "1", "--tolerance", "99%"]].concat());
    assert!(against.code == Some(2) && against.stdout.contains("UNDECIDED"), "{against:?}");
}

/// By arithmetic: 25 Gbit/s, of which 1448 of 1538 bytes are payload, over the bytes of an image.
#[test]
fn a_link_rate_has_a_capacity_without_a_node() {
    let finished = LoadGen::run(&["probe", "--link-rate", "25G", "--rules", "v5.0"]);
    let images = finished.stdout.lines().find(|line| line.trim_start().starts_with("resnet50 "));
    assert!(finished.code == Some(0) && images.is_some_and(|line| line.ends_with(" 19545")), "{finished:?}");
    let more = LoadGen::run(&["probe", "--link-rate", "25G", "--benchmark", "synthetic"]);
    let message = "  synthetic: left out, the bytes of its samples are not fixed";
    assert!(more.code == Some(0) && more.stdout.contains(message), "{more:?}");
    let bare = LoadGen::run(&["probe"]);
    let message = "give --sut NODES, or --link-rate RATE for arithmetic without nodes";
    assert!(bare.code == Some(2) && bare.stderr.contains(message), "{bare:?}");
    let measured = LoadGen::run(&["probe", "--link-rate", "25G", "--duration", "1"]);
    assert!(measured.code == Some(2) && measured.stderr.contains("cannot be used with '--duration"), "{measured:?}");
    for (flag, value) in [("--require", "resnet50=1000"), ("--codecs", "lz4")] {
        let refused = LoadGen::run(&["probe", "--link-rate", "25G", flag, value]);
        assert!(refused.code == Some(2) && refused.stderr.contains("give --sut NODES in its place"), "{refused:?}");
    }
    let quic = LoadGen::run(&["probe", "--link-rate", "25G", "--transport", "quic"]);
    assert!(quic.code == Some(2) && quic.stderr.contains("--link-rate counts TCP segments"), "{quic:?}");
}

/// A reader must not look for a file that was never written.
#[test]
fn a_probe_that_loses_its_node_says_that_it_saved_nothing() {
    let node = SutNode::start("a", "null", &[]);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("base.json");
    let path = file.to_str().unwrap();
    let mut probe = LoadGen::start(&["probe", "--sut", &node.address, "--duration", "60", "--save", path]);
    probe.wait_for_log("probing");
    node.signal(Signal::SIGKILL);
    let finished = probe.finish();
    let message = format!("--save wrote no {path}: probe again");
    assert!(finished.code == Some(4) && finished.stderr.contains(&message), "no {message} in {finished:?}");
    assert!(!file.exists(), "{finished:?}");
}

#[test]
fn a_node_that_is_busy_with_a_run_is_not_probed() {
    let node = SutNode::start("taken", "synthetic:constant=5ms", &[]);
    let long = TestRun::new("SingleStream").on(&node.address);
    // Far longer than until it is told to end.
    let (run, folder) = long.patient().set("min_duration=600s,min_query_count=70,target_latency=1").begin();
    let finished = LoadGen::run(&args(&node.address, "grpc"));
    assert_eq!(finished.code, Some(4), "{finished:?}");
    for part in ["taken", "busy with run", "pid"] {
        assert!(finished.stderr.contains(part), "no '{part}' in: {}", finished.stderr);
    }
    run.signal(Signal::SIGINT);
    let finished = run.finish();
    assert_eq!(finished.code, Some(5), "{finished:?}");
    let result = folder.result();
    assert_eq!(result["counts"]["failed"], 0, "{result}");
    assert!(!result["reasons"].to_string().contains("node"), "interrupted, and not disturbed: {result}");
}
