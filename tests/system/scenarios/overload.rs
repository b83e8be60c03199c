//! More than the SUT can take: the run ends by the rules, memory stays bounded, nothing stands still.

use lon_tests::memory;
use lon_tests::process::{SutNode, sut};
use lon_tests::test_run::TestRun;
use serde_json::Value;

fn samples_by_node(result: &Value) -> Vec<(String, u64)> {
    let nodes = result["network"]["nodes"].as_array().unwrap();
    nodes.iter().map(|node| (node["name"].as_str().unwrap().to_owned(), node["samples"].as_u64().unwrap())).collect()
}

/// Room for 256 samples, of which it answers 50 a second: most of 2000 find the node full, and all of them end.
#[test]
fn more_than_a_node_has_room_for_is_overload_with_a_reason() {
    let node = SutNode::start("slow", "synthetic:constant=20ms", &["--max-batch", "1", "--memory", "64MiB"]);
    let run = TestRun::new("Server").on(&node.address).dataset("synthetic:u8[65536]x16");
    let (finished, folder) = run.set("target_qps=40000,min_duration=0,min_query_count=2000").finish();
    assert_eq!(finished.code, Some(3), "{finished:?}");
    folder.assert_complete();
    let result = folder.result();
    assert_eq!(result["result"], "INVALID");
    assert!(result["reasons"].to_string().contains("overload: every node"), "{result}");
    let count = |name: &str| result["counts"][name].as_u64().unwrap();
    assert_eq!((count("issued"), count("completed") + count("failed")), (2_000, 2_000), "{result}");
    let refused = result["saturation"]["refused"].as_u64().unwrap();
    assert!(refused > 0 && refused == count("failed"), "{result}");
}

/// One sample in 20 ms, and 40,000 queries a second, as fast as they can be issued.
#[test]
#[ignore = ".ci/run timing"]
fn a_rate_beyond_capacity_is_overload_with_a_reason() {
    let node = SutNode::start("slow", "synthetic:constant=20ms", &["--max-batch", "1"]);
    let settings = "target_qps=40000,min_duration=1000,max_duration=1000,min_query_count=1";
    let (finished, folder) =
        TestRun::new("Server").on(&node.address).set(settings).args(&["--response-timeout", "2s"]).finish();
    assert_eq!(finished.code, Some(3), "{finished:?}");
    folder.assert_complete();
    let result = folder.result();
    assert_eq!(result["result"], "INVALID");
    assert!(result["reasons"].to_string().contains("overload: every node"), "{result}");
    let count = |name: &str| result["counts"][name].as_u64().unwrap();
    assert_eq!(count("issued"), count("completed") + count("failed"), "{result}");
    let saturation = &result["saturation"];
    assert!(saturation["refused"].as_u64().unwrap() > 0, "{saturation}");
    // A refused sample is in flight until the engine takes notice, which it does after a burst.
    let in_flight = |what: &str| saturation["in_flight"][what].as_u64().unwrap();
    assert!(in_flight("max") <= in_flight("limit") + 1_024, "{saturation}");
    let memory_bytes = memory::most_bytes(node.id());
    assert!(memory_bytes < 256 << 20, "{memory_bytes} bytes");
}

/// Answers as large as the questions, more of both than any buffer on the way holds.
#[test]
fn large_answers_to_large_samples_do_not_stand_in_each_others_way() {
    let node = SutNode::start("echoes", "synthetic:constant=0us,output=1000000", &["--max-batch", "16"]);
    let settings = "target_qps=6000,min_duration=100ms,min_query_count=1";
    for connections in ["1", "3"] {
        let run = TestRun::new("Offline").on(&node.address).set(settings).dataset("synthetic:u8[1000000]x8");
        let (finished, folder) = run.args(&["--connections", connections]).finish();
        // The test accepts a run that is shorter than it should be: its length is another matter.
        assert!(matches!(finished.code, Some(0 | 3)), "{finished:?}");
        let counts = &folder.result()["counts"];
        assert_eq!((counts["issued"].as_u64(), counts["completed"].as_u64()), (Some(660), Some(660)), "{finished:?}");
    }
    // The pull window bounds the samples in flight. All 660 samples and answers would be 1.2 GB.
    let memory_bytes = memory::most_bytes(node.id());
    assert!(memory_bytes < 900 << 20, "{memory_bytes} bytes");
}

/// Nodes pull: the one that is ten times slower gets its share and no more, so it does not decide the run.
#[test]
#[ignore = ".ci/run timing"]
fn a_node_ten_times_slower_gets_a_tenth() {
    let node = |name: &str, spec: &str| SutNode::start(name, spec, &["--max-batch", "1"]);
    let nodes = [
        node("a", "synthetic:constant=2ms"),
        node("b", "synthetic:constant=2ms"),
        node("c", "synthetic:constant=2ms"),
        node("slow", "synthetic:constant=20ms"),
    ];
    let sut = sut(&nodes);
    let settings = "target_qps=10000,min_duration=300ms,min_query_count=1";
    let (finished, folder) = TestRun::new("Offline").on(&sut).set(settings).finish();
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let by_node = samples_by_node(&folder.result());
    let (slow, all) = (by_node[3].1, by_node.iter().map(|(_, samples)| samples).sum::<u64>());
    // A fair share by count would be a quarter; by speed it is a thirty-first.
    assert!(slow * 10 < all, "{by_node:?}");
    assert!(by_node[..3].iter().all(|(_, samples)| samples * 5 > all), "{by_node:?}");
}
