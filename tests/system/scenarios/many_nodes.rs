//! Very many nodes in one process: what people read stays short, what programs read has all of them.

use std::collections::BTreeSet;
use std::fs;

use lon_tests::process::{LoadGen, SutNode, free_ports};
use lon_tests::run_folder::RunFolder;
use lon_tests::test_run::TestRun;
use nix::sys::signal::Signal;
use serde_json::Value;

/// Bytes of a screen that a person still reads.
const SCREEN_BYTES: usize = 4 << 10;

/// A limit of open files as some systems set it, which each program raises by itself.
const LOW_LIMIT: [&str; 3] = ["sh", "-c", "ulimit -Sn 256 && exec \"$0\" \"$@\""];

/// Nodes `n-1` to `n-COUNT` of one process, and the value of `--sut` for them.
fn serve(count: u16, under: &[&str], more: &[&str]) -> (SutNode, String) {
    let (first, number) = (free_ports(count), count.to_string());
    let listen = format!("127.0.0.1:{first}");
    let more = [&["--nodes", number.as_str()], more].concat();
    let nodes = SutNode::start_many(under, &listen, "n-{number}", "null", &more);
    (nodes, format!("127.0.0.1:{first}-{}", first + count - 1))
}

/// A short run in which being late is no fault: the machine has other tests.
fn patient(sut: &str, settings: &str) -> TestRun {
    TestRun::new("Server").patient().on(sut).set(settings)
}

fn names(count: usize) -> BTreeSet<String> {
    (1..=count).map(|number| format!("n-{number}")).collect()
}

fn names_in(list: &Value) -> BTreeSet<String> {
    let nodes = list.as_array().unwrap_or_else(|| panic!("no list: {list}"));
    nodes.iter().map(|node| node["name"].as_str().or(node["node"].as_str()).unwrap().to_owned()).collect()
}

fn document(folder: &RunFolder, name: &str) -> Value {
    serde_json::from_str(&fs::read_to_string(folder.path.join(name)).unwrap()).unwrap()
}

/// Every document names every node.
fn assert_all_named(folder: &RunFolder, count: usize) {
    let (result, network) = (folder.result(), document(folder, "network_report.json"));
    let name = result["sut_name"].as_str().unwrap();
    let listed: BTreeSet<String> = name.strip_prefix("Network SUT: ").unwrap().split(", ").map(str::to_owned).collect();
    assert_eq!(listed, names(count));
    for list in
        [&result["sut"], &network["nodes"], &network["name_round_trips"], &document(folder, "system_desc.json")["sut"]]
    {
        assert_eq!(names_in(list), names(count));
    }
}

#[test]
fn a_run_over_128_nodes_is_as_short_to_read_as_one_over_a_few() {
    let (nodes, sut) = serve(128, &[], &[]);
    let (finished, folder) = patient(&sut, "target_qps=600,min_duration=1000,min_query_count=600").finish();
    assert_eq!(finished.code, Some(0), "{finished:?}");
    assert_eq!(finished.stdout, fs::read_to_string(folder.path.join("result.txt")).unwrap());
    for (what, text, lines) in [("screen", &finished.stdout, 32), ("log", &finished.stderr, 12)] {
        assert!(text.lines().count() <= lines && text.len() < SCREEN_BYTES, "the {what} is long: {text}");
    }
    assert!(finished.stdout.contains("Network SUT: n-1 and 127 more nodes (null"), "{finished:?}");
    assert!(finished.stdout.contains("(128 nodes: first n-1 "), "{finished:?}");
    assert_all_named(&folder, 128);
    let network = document(&folder, "network_report.json");
    let samples =
        network["nodes"].as_array().unwrap().iter().map(|node| node["samples"].as_u64().unwrap()).sum::<u64>();
    assert_eq!(Some(samples), folder.result()["counts"]["issued"].as_u64());

    let page = fs::read_to_string(folder.path.join("report.html")).unwrap();
    let table =
        |id: &str| page.split(&format!("<section id=\"{id}\">")).nth(1).unwrap().split("</section>").next().unwrap();
    for id in ["nodes", "split-by-node", "systems"] {
        let rows = table(id).matches("<tr>").count();
        assert!((4..=16).contains(&rows), "{rows} rows in {id}");
    }
    assert!(table("nodes").contains("<th>n-1</th>") && table("nodes").contains("<th>all 128</th>"));

    nodes.signal(Signal::SIGTERM);
    let (code, log) = nodes.wait_with_log();
    assert_eq!((code, log.matches("started").count(), log.matches("ended").count()), (Some(0), 8, 8), "{log}");
    assert!(log.contains("node=n-1"), "{log}");
}

#[test]
fn the_loss_of_128_nodes_is_told_in_a_few_lines() {
    let (nodes, sut) = serve(128, &[], &[]);
    let (run, folder) = patient(&sut, "target_qps=400,min_duration=600s,min_query_count=256").begin();
    drop(nodes);
    let finished = run.finish();
    assert_eq!(finished.code, Some(4), "{finished:?}");
    assert!(finished.stdout.lines().count() <= 48, "{}", finished.stdout);
    assert!(finished.stdout.contains(" more of this kind (`reasons` in result_summary.json has all)"), "{finished:?}");
    assert!(finished.stderr.matches("node is lost").count() <= 8, "{finished:?}");
    let result = folder.result();
    let reasons: Vec<&str> =
        result["reasons"].as_array().unwrap().iter().map(|reason| reason.as_str().unwrap()).collect();
    // The reason of a node differs when its loss is noticed only at the request for its counters.
    let gone = reasons.iter().filter(|reason| reason.contains(" was lost: ") || reason.contains(" gave no counters: "));
    assert_eq!(gone.count(), 128, "{reasons:?}");
    let page = fs::read_to_string(folder.path.join("report.html")).unwrap();
    assert!(page.contains("more: result_summary.json has them."), "the page has a bound, too");
}

#[test]
fn of_nodes_that_cannot_be_reached_the_first_is_named_and_the_others_are_counted() {
    let first = free_ports(128);
    let run = ["run", "--benchmark", "synthetic", "--dataset", "synthetic:u8[64]x16", "--scenario", "Server"];
    let sut = format!("127.0.0.1:{first}-{}", first + 127);
    let finished = LoadGen::run(&[&run[..], &["--sut", &sut]].concat());
    assert_eq!(finished.code, Some(4), "{finished:?}");
    let message = finished.stderr.lines().last().unwrap();
    assert!(message.contains("127.0.0.1:") && message.contains(" cannot be reached"), "{message}");
    // As many as have failed within a moment: on a busy machine not all.
    let (_, more) = message.rsplit_once("; ").unwrap();
    let count = more.strip_suffix(" more of the 128 nodes failed, too").unwrap();
    assert!((1..128).contains(&count.parse().unwrap()) && message.len() < 500, "{message}");
}

#[test]
fn too_few_descriptors_for_so_many_nodes_are_refused_with_the_number_that_is_needed() {
    let hard = ["sh", "-c", "ulimit -n 256 && exec \"$0\" \"$@\""];
    let run = ["run", "--benchmark", "synthetic", "--dataset", "synthetic:u8[64]x16", "--scenario", "Server"];
    let first = free_ports(128);
    let sut = format!("127.0.0.1:{first}-{}", first + 127);
    let finished = LoadGen::start_under(&hard, &[&run[..], &["--sut", &sut]].concat()).finish();
    assert_eq!(finished.code, Some(2), "{finished:?}");
    assert!(finished.stderr.contains("128 SUT nodes take 304 open files"), "{finished:?}");
    assert!(finished.stderr.contains("(ulimit -n 304)"), "{finished:?}");
}

fn threads(process: u32) -> usize {
    fs::read_dir(format!("/proc/{process}/task")).unwrap().count()
}

#[test]
#[ignore = ".ci/run large"]
fn a_run_over_1000_nodes_keeps_its_rate() {
    let (nodes, sut) = serve(1_000, &LOW_LIMIT, &[]);
    assert!(threads(nodes.id()) <= 1_010, "a node has one thread of its own: {}", threads(nodes.id()));
    let test = patient(&sut, "target_qps=1000,min_duration=5000,min_query_count=4000").under(&LOW_LIMIT);
    let (run, folder) = test.begin();
    assert!(threads(run.id()) <= 16, "threads do not grow with the nodes: {}", threads(run.id()));
    let finished = run.finish();
    assert_eq!(finished.code, Some(0), "{finished:?}");
    assert!(finished.stdout.lines().count() <= 32 && finished.stdout.len() < SCREEN_BYTES, "{finished:?}");
    assert_all_named(&folder, 1_000);
    let result = folder.result();
    let rate = result["metric"]["value"].as_f64().unwrap();
    assert!((900.0..1_100.0).contains(&rate), "{}", result["metric"]);
}
