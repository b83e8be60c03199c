//! `infer`: results of other scenarios that follow from a run, by the rules for edge systems.

use std::fs;

use lon_run::documents::inferred::InferredResults;
use lon_tests::process::{LoadGen, SutNode};
use lon_tests::run_folder::RunFolder;
use lon_tests::test_run::TestRun;

fn inferred(folder: &str) -> InferredResults {
    let printed = LoadGen::run(&["infer", folder, "--json"]);
    assert_eq!(printed.code, Some(0), "{printed:?}");
    serde_json::from_str(&printed.stdout).unwrap()
}

/// A short run of a scenario that has to be VALID.
fn run(node: &SutNode, scenario: &str, settings: &str) -> RunFolder {
    let (finished, folder) = TestRun::new(scenario).patient().on(&node.address).set(settings).finish();
    assert_eq!(finished.code, Some(0), "{finished:?}");
    folder
}

#[test]
fn results_of_edge_systems_follow_from_a_run_with_their_formula() {
    let node = SutNode::start("n1", "null", &[]);
    let single = run(&node, "SingleStream", "min_duration=0,min_query_count=700,target_latency=1");
    let document = inferred(single.arg());
    let [multi, offline] = &document.inferred[..] else { panic!("{document:?}") };
    assert_eq!((multi.scenario.as_str(), multi.unit.as_str()), ("MultiStream", "ms"));
    assert_eq!(multi.inferred_from, "SingleStream");
    assert_eq!(multi.value, 8.0 * multi.taken["early_stopping_latency_ms"] / 1e6);
    assert_eq!((offline.scenario.as_str(), offline.unit.as_str()), ("Offline", "samples/s"));
    let mean_ns = single.result()["latency_ns"]["mean"].as_f64().unwrap();
    assert!((offline.value * mean_ns / 1e9 - 1.0).abs() < 1e-3, "{offline:?} {mean_ns}");
    assert!(document.not_inferred.is_empty(), "{document:?}");
    let text = LoadGen::run(&["infer", single.arg()]).stdout;
    assert_eq!(text.matches("INFERRED from SingleStream").count(), 2, "{text}");

    // Too few queries for the 99th percentile.
    let short = inferred(run(&node, "SingleStream", "min_duration=0,min_query_count=100,target_latency=1").arg());
    assert!(short.inferred.len() == 1 && short.not_inferred[0].starts_with("MultiStream: its log lacks"), "{short:?}");
    let other = inferred(run(&node, "Offline", "min_duration=0,min_query_count=1,target_qps=100").arg());
    assert!(other.inferred.is_empty() && other.not_inferred[0].contains("no result follows from Offline"), "{other:?}");
    // The logs alone, as an official LoadGen leaves them.
    let logs = RunFolder::new();
    fs::create_dir(&logs.path).unwrap();
    fs::copy(single.path.join("mlperf_log_detail.txt"), logs.path.join("mlperf_log_detail.txt")).unwrap();
    let official = inferred(logs.arg());
    assert_eq!((official.benchmark.as_deref(), official.inferred.len()), (None, 2));
}

#[test]
fn nothing_follows_from_an_invalid_run_or_from_no_run() {
    let node = SutNode::start("n1", "null", &[]);
    let test = TestRun::new("SingleStream").patient().on(&node.address);
    let (finished, folder) = test.set("min_duration=0,min_query_count=10,target_latency=1").finish();
    assert_eq!(finished.code, Some(3), "{finished:?}");
    let document = inferred(folder.arg());
    assert!(document.inferred.is_empty() && document.not_inferred[0].contains("an INVALID run: "), "{document:?}");
    let none = RunFolder::new();
    fs::create_dir(&none.path).unwrap();
    let refused = LoadGen::run(&["infer", none.arg()]);
    assert!(refused.code == Some(2) && refused.stderr.contains("is not a run folder"), "{refused:?}");
}
