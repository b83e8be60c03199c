//! Where the time of a sample went: parts that add up to its latency, in every scenario.

use std::fs;

use lon_tests::process::SutNode;
use lon_tests::test_run::{TestRun, went_well};
use serde_json::Value;

const PERCENTILES: [&str; 3] = ["p50", "p90", "p99"];

fn ns(of: &Value, percentile: &str) -> u64 {
    of[percentile].as_u64().unwrap_or_else(|| panic!("no {percentile} in {of}"))
}

/// The parts of the latency of a run, all but the sum.
fn parts(split: &Value) -> Vec<(&String, &Value)> {
    split.as_object().unwrap().iter().filter(|(name, _)| *name != "latency").collect()
}

#[test]
fn the_parts_of_a_latency_add_up_in_every_scenario() {
    let node = SutNode::start("a", "synthetic:constant=2ms", &["--max-batch", "1"]);
    for (scenario, set) in [
        ("SingleStream", "target_latency=2,min_duration=0,min_query_count=100"),
        ("MultiStream", "target_latency=20,min_duration=0,min_query_count=30"),
        // More than the node answers: what waits does so in the node.
        ("Server", "target_qps=700,min_duration=0,min_query_count=300"),
        ("Offline", "target_qps=300,min_duration=1000,min_query_count=1"),
    ] {
        let test = TestRun::new(scenario).patient().on(&node.address).set(set);
        let (finished, folder) = went_well(test, scenario);
        let result = folder.result();
        let split = &result["network"]["latency_split_ns"];
        for percentile in PERCENTILES {
            let sum: u64 = parts(split).iter().map(|(_, part)| ns(part, percentile)).sum();
            assert_eq!(sum, ns(&split["latency"], percentile), "{scenario} {percentile}: {split}");
            // Of a query of several samples the latency is that of its last.
            if scenario != "MultiStream" {
                let official = ns(&result["latency_ns"], percentile);
                let off = sum.abs_diff(official) as f64 / official as f64;
                assert!(off < 0.02, "{scenario} {percentile}: {sum} is not {official}");
            }
        }
        let line = finished.stdout.lines().find(|line| line.starts_with(" p99 "));
        assert!(line.is_some_and(|line| line.contains(" = ") && line.contains(" + ")), "{finished:?}");
        let before_sending = ns(&split["before_sending"], "p50");
        match scenario {
            "Offline" => assert!(before_sending > 0, "{split}"),
            _ => assert!(before_sending < ns(&split["latency"], "p50"), "{split}"),
        }
        let page = fs::read_to_string(folder.path.join("report.html")).unwrap();
        // All samples of Offline are due at the start: most of a latency is the time of others.
        let has_share = page.contains("of the latency at the median is");
        assert_eq!(has_share, scenario != "Offline", "{scenario}");
        assert!(!page.contains("of the time at the median"), "{scenario}: shares that do not add up");
    }
}
