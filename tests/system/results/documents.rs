//! JSON documents: the keys that users were promised are there, and each document is what its type says, to the byte.
//!
//! Run folders of all whole-system tests are read back by their types, too: see `RunFolder::assert_complete`.

use lon_run::documents::accuracy::AccuracyDocument;
use lon_run::documents::conf::ConfDocument;
use lon_run::documents::probe::ProbeDocument;
use lon_tests::process::{LoadGen, SutNode, repository};
use lon_tests::run_folder::assert_read_back;
use lon_tests::test_run::TestRun;
use serde_json::{Value, json};

/// Keys of `skeleton` that `document` does not have. Null stands for any value, a list for one that is not empty and
/// whose elements have the keys of the only element.
fn missing(skeleton: &Value, document: &Value, at: &str) -> Vec<String> {
    match skeleton {
        Value::Object(keys) => {
            let below = |(key, inner): (&String, &Value)| match document.get(key) {
                Some(value) => missing(inner, value, &format!("{at}/{key}")),
                None => vec![format!("{at}/{key}")],
            };
            keys.iter().flat_map(below).collect()
        }
        Value::Array(elements) => match (elements.first(), document.as_array()) {
            (None, Some(_)) => Vec::new(),
            (Some(element), Some(list)) if !list.is_empty() => {
                list.iter().flat_map(|value| missing(element, value, &format!("{at}/0"))).collect()
            }
            _ => vec![format!("{at}: no list, or an empty one")],
        },
        _ => Vec::new(),
    }
}

fn assert_has(skeleton: &Value, document: &Value) {
    let missing = missing(skeleton, document, "");
    assert!(missing.is_empty(), "missing: {missing:?} in {document:#}");
}

fn file(folder: &lon_tests::run_folder::RunFolder, name: &str) -> Value {
    serde_json::from_str(&std::fs::read_to_string(folder.path.join(name)).unwrap()).unwrap()
}

#[test]
fn a_run_folder_has_the_keys_of_the_published_forms() {
    let node = SutNode::start("a", "null", &[]);
    let test = TestRun::new("Server").on(&node.address).set("target_qps=200,min_duration=1500,min_query_count=20");
    let (finished, folder) = test.finish();
    assert!(matches!(finished.code, Some(0 | 3)), "{finished:?}");
    folder.assert_complete();
    let percentiles = json!({ "p50": null, "p90": null, "p99": null });
    let both = json!({ "ingress": null, "egress": null });
    let ends = json!({ "loadgen": null, "sut": null });
    let both_ends = json!({ "ingress": ends, "egress": ends });
    let result = file(&folder, "result_summary.json");
    assert_has(
        &json!({
            "schema": 1, "result": null, "official_result": null, "division": null, "benchmark": null,
            "scenario": null, "mode": null, "sut_name": null, "metric": { "name": null, "value": null, "unit": null },
            "scheduled_samples_per_s": null, "within": null, "reason_codes": [], "made": { "labels": {} },
            "latency_ns": { "min": null, "mean": null, "p50": null, "p90": null, "p95": null, "p97": null,
                            "p99": null, "p99_9": null, "max": null },
            "schedule_lag_ns": { "p50": null, "p99": null, "max": null },
            "counts": { "issued": null, "completed": null, "failed": null, "duplicate": null, "late": null },
            "reasons": [], "settings": {}, "network": {},
        }),
        &result,
    );
    let [scheduled, completed] = [&result["scheduled_samples_per_s"], &result["metric"]["value"]].map(Value::as_f64);
    // Queries are answered after they were due.
    assert!(scheduled > completed && completed.is_some(), "{scheduled:?} {completed:?}");
    assert!(finished.stdout.contains(&format!("\nScheduled {:.2} samples/s (", scheduled.unwrap())), "{finished:?}");
    let lengths = ["reasons", "reason_codes"].map(|key| result[key].as_array().map(Vec::len));
    assert_eq!(lengths[0], lengths[1], "a code for each reason");
    for key in ["ttft_ns", "tpot_ns", "tokens_per_s"] {
        assert!(result.get(key).is_none(), "{key} belongs to token runs");
    }
    let report = file(&folder, "network_report.json");
    let layers = json!({
        "tensor_bytes": both, "encoded_bytes": both, "message_bytes": both_ends, "socket_bytes": both_ends,
    });
    assert_has(
        &json!({
            "schema": 1, "transport": null, "codec": null, "ratio": null,
            "name_round_trips": [{ "node": null, "rtt_ns": null, "nonce_ok": null }],
            "nodes": [{ "name": null, "address": null, "samples": null, "retransmits": null, "nic": null }],
            "total": layers,
            "per_second": { "t_s": [], "message_ingress": [], "message_egress": [], "socket_ingress": [],
                            "socket_egress": [] },
            "latency_split_ns": { "outside_sut": percentiles, "decode": percentiles, "queue": percentiles,
                                  "batch": percentiles, "inference": percentiles, "encode": percentiles },
            "bandwidth_gbit_s": { "required": both, "carried": both, "probed": both, "nic_claim": both,
                                  "verdict": null },
        }),
        &report,
    );
    assert_has(&layers, &report["nodes"][0]);
    assert_eq!((&result["schema"], &report["schema"]), (&json!(1), &json!(1)));
}

#[test]
fn commands_print_documents_of_the_published_forms() {
    let conf = LoadGen::run(&["conf", "--benchmark", "digits", "--scenario", "Server", "--json"]);
    assert_read_back::<ConfDocument>(&conf.stdout, "\n");
    assert_has(
        &json!({
            "settings": { "server_target_qps": { "value": null, "origin": null } },
            "predicted": { "queries": null, "samples": null, "duration_s": null, "memory_bytes": null,
                           "wire_bytes": null },
            "warnings": [],
        }),
        &serde_json::from_str(&conf.stdout).unwrap(),
    );
    let nodes = ["a", "b"].map(|name| SutNode::start(name, "null", &[]));
    let sut = format!("{},{}", nodes[0].address, nodes[1].address);
    let probe = LoadGen::run(&["probe", "--sut", &sut, "--json", "--duration", "100ms", "--wait-ready", "300s"]);
    assert_eq!(probe.code, Some(0), "{probe:?}");
    assert_read_back::<ProbeDocument>(&probe.stdout, "\n");
    let goodput = json!({ "up": null, "down": null, "both": null });
    assert_has(
        &json!({
            "schema": 1, "transport": null,
            "nodes": [{ "name": null, "address": null, "goodput_gbit_s": goodput, "loaded_rtt_ns": null,
                        "rtt_ns": [{ "bytes": null, "p50": null, "p90": null, "p99": null }] }],
            "together": { "goodput_gbit_s": goodput },
        }),
        &serde_json::from_str(&probe.stdout).unwrap(),
    );
}

#[test]
fn a_score_has_the_published_form() {
    let model = format!("onnx:{}", repository("loadgen-node/qsl/digits/digits.onnx").display());
    let node = SutNode::start("a", &model, &[]);
    let (finished, folder) = TestRun::digits("Offline").on(&node.address).args(&["--mode", "AccuracyOnly"]).finish();
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let scored = LoadGen::run(&["accuracy", "--json", folder.arg()]);
    let document: AccuracyDocument = serde_json::from_str(&scored.stdout).unwrap();
    assert_eq!(serde_json::to_string_pretty(&document).unwrap() + "\n", scored.stdout);
    let keys = json!({ "metric": null, "value": null, "target": null, "passed": null, "samples": null });
    assert_has(&keys, &serde_json::from_str(&scored.stdout).unwrap());
    assert_eq!(serde_json::to_value(document).unwrap(), file(&folder, "result_summary.json")["accuracy"]);
}
