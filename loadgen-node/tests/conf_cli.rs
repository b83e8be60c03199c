//! The command `conf`: settings with their origins, predictions, warnings, and what is refused.
#![allow(clippy::unwrap_used, reason = "a test that cannot read its data has failed")]

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

fn conf(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_loadgen-node")).arg("conf").args(args).output().unwrap()
}

fn json(args: &[&str]) -> Value {
    let output = conf(&[args, &["--json"]].concat());
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{args:?}: {errors}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The message of a call that must end with exit code 2.
fn refused(args: &[&str]) -> String {
    let output = conf(args);
    assert_eq!(output.status.code(), Some(2), "{args:?}");
    String::from_utf8(output.stderr).unwrap()
}

fn new_file(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

fn setting<'a>(view: &'a Value, name: &str) -> (&'a Value, &'a str) {
    (&view["settings"][name]["value"], view["settings"][name]["origin"].as_str().unwrap())
}

#[test]
fn every_layer_is_named_as_the_origin() {
    let folder = tempfile::tempdir().unwrap();
    let official = new_file(folder.path(), "mlperf.conf", "*.*.qsl_rng_seed = 7\n*.Server.target_qps = 3\n");
    let user = new_file(folder.path(), "user.conf", "\n*.Server.target_qps = 100\n*.*.min_query_count = 5000\n");
    let audit = new_file(folder.path(), "audit.config", "*.*.min_query_count = 6000\n");
    let files = ["--mlperf-conf", &official, "--user-conf", &user, "--audit-conf", &audit];
    let flags = ["--benchmark", "resnet50", "--scenario", "Server", "--set", "max_duration=700000,min_query_count=1"];
    let view = json(&[&flags[..], &files[..]].concat());
    assert_eq!(setting(&view, "qsl_rng_seed"), (&7.into(), format!("{official}:1").as_str()));
    assert_eq!(setting(&view, "server_target_qps"), (&100.0.into(), format!("{user}:2").as_str()));
    assert_eq!(setting(&view, "min_query_count"), (&6000.into(), format!("{audit}:1").as_str()));
    assert_eq!(setting(&view, "max_duration_ms"), (&700_000.into(), "--set max_duration=700000"));
    assert_eq!(setting(&view, "server_target_latency_ns"), (&15_000_000.into(), "round v6.1"));
    assert_eq!(setting(&view, "server_coalesce_queries"), (&false.into(), "default"));
    assert_eq!(view["effective"]["target_qps"], 100.0);
    let queries = view["predicted"]["queries"].as_u64().unwrap();
    assert!((59_000..61_000).contains(&queries), "600 s at 100 per s: {queries}");
    assert!(view["warnings"].to_string().contains("a QSL of 1024 samples is assumed"), "{view}");
    assert_eq!(view["samples_known"], false);
}

#[test]
fn a_dataset_of_ours_gives_bytes_and_keeps_loadgens_defaults() {
    let flags = ["--benchmark", "digits", "--scenario", "Offline", "--set", "target_qps=1000"];
    let view = json(&flags);
    assert_eq!(setting(&view, "min_duration_ms"), (&10_000.into(), "default"));
    assert_eq!(setting(&view, "schedule_rng_seed").1, "round v6.1");
    assert_eq!(view["predicted"]["samples"], 11_000);
    assert_eq!(view["predicted"]["duration_s"], 11.0);
    assert!(view["predicted"]["wire_bytes"].as_u64().unwrap() > 11_000 * 64, "{view}");
    assert_eq!(view["warnings"], Value::Array(Vec::new()), "{view}");
    assert_eq!(view["seeds_only"], true);
    let text = String::from_utf8(conf(&flags).stdout).unwrap();
    assert!(text.starts_with("digits Offline PerformanceOnly, seeds of round v6.1 (--rules v6.1 also takes"), "{text}");
    assert!(text.contains("offline_expected_qps") && !text.contains("server_target_qps"), "{text}");
    let round = json(&[&flags[..], &["--rules", "v5.1"]].concat());
    assert_eq!(setting(&round, "min_duration_ms"), (&600_000.into(), "round v5.1"));
    assert_eq!(round["seeds_only"], false);
    assert_eq!(setting(&round, "schedule_rng_seed"), (&18_209_322_760_996_052_031_u64.into(), "round v5.1"));
    let warnings = round["warnings"].as_array().unwrap();
    assert!(warnings.iter().all(|warning| !warning.as_str().unwrap().contains("round v5.1")), "{round}");
}

#[test]
fn a_rate_that_the_run_finds_is_shown_as_auto_and_no_size_is_predicted() {
    let flags = ["--benchmark", "digits", "--scenario", "Offline"];
    let view = json(&flags);
    assert_eq!(view["settings"]["offline_expected_qps"]["auto"], true, "{view}");
    assert!(view["predicted"]["samples"].is_null() && view["predicted"]["duration_s"].is_null(), "{view}");
    let text = String::from_utf8(conf(&flags).stdout).unwrap();
    let row = text.lines().find(|line| line.trim_start().starts_with("offline_expected_qps")).unwrap();
    assert!(row.contains(" auto ") && !row.contains("1.0"), "{row}");
    assert!(text.contains("Effective settings, with 1.0 in place of offline_expected_qps=auto"), "{text}");
    assert!(!text.contains("A run takes about"), "{text}");
}

#[test]
fn runs_that_cannot_become_valid_are_warned_of() {
    let view = json(&["--benchmark", "digits", "--scenario", "Server", "--set", "target_qps=5"]);
    assert!(view["warnings"].to_string().contains("early stopping, which needs at least 459"), "{view}");
    let view = json(&["--benchmark", "bert", "--scenario", "SingleStream", "--set", "max_duration=60000"]);
    assert!(view["warnings"].to_string().contains("short of the 600.0 s of min_duration"), "{view}");
}

#[test]
fn query_counts_are_printed_beside_the_early_stopping_minimum() {
    let view = json(&["--benchmark", "resnet50", "--scenario", "SingleStream"]);
    let counts = view["query_counts"].as_array().unwrap();
    let of = |key: &str| counts.iter().map(|count| count[key].as_u64().unwrap()).collect::<Vec<_>>();
    assert_eq!(of("queries"), [23_886, 50_425, 85_811, 262_742]);
    assert_eq!(of("rounded"), [24_576, 57_344, 90_112, 270_336]);
    assert_eq!(of("early_stopping_minimum")[0], 64);
    assert_eq!(
        [&counts[0]["percentile"], &counts[0]["margin"], &counts[0]["confidence"]].map(Value::as_f64),
        [90.0, 0.5, 99.0].map(Some),
        "in percent, as the key is"
    );
    assert_eq!(view["effective"]["target_latency_percentile"], 90.0);
    let output = conf(&["--benchmark", "pointpainting", "--scenario", "SingleStream"]);
    let text = String::from_utf8(output.stdout).unwrap();
    for part in ["270336", "99.9 ", "Effective settings", "performance_sample_count_override", "round v6.1"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn odd_lines_are_warned_of_or_refused_with_their_place() {
    let folder = tempfile::tempdir().unwrap();
    let odd = new_file(folder.path(), "user.conf", "# ours\n*.Server.target_qps=5\n*.*.qsl_rng_seed = 5\n");
    let flags = ["--benchmark", "bert", "--scenario", "Server", "--user-conf", &odd];
    let view = json(&flags);
    let warnings = view["warnings"].to_string();
    assert!(warnings.contains(&format!("{odd}:2: ")) && warnings.contains(&format!("{odd}:3: ")), "{warnings}");
    assert_eq!(setting(&view, "server_target_qps"), (&1.0.into(), "round v6.1"));
    let error = refused(&[&flags[..], &["--strict-conf"]].concat());
    assert!(error.contains(&format!("{odd}:2: ")) && error.contains(&format!("{odd}:3: ")), "{error}");
}

#[test]
fn what_cannot_be_used_ends_with_2_and_names_it() {
    let folder = tempfile::tempdir().unwrap();
    let faulty = new_file(folder.path(), "faulty.conf", "*.*.mode = 2\n*.Server.target_qps = 5 # rate\n");
    let server = ["--benchmark", "bert", "--scenario", "Server"];
    let with = |more: &[&str]| refused(&[&server[..], more].concat());
    for (flags, part) in [
        (&["--user-conf", &faulty][..], format!("{faulty}:2: ").as_str()),
        (&["--audit-conf", "/nowhere/audit.config"], "/nowhere/audit.config"),
        (&["--mlperf-conf", folder.path().to_str().unwrap()], "cannot read"),
        (&["--rules", "v6.2"], "v5.0, v5.1, v6.0, v6.1"),
        (&["--set", "target_qps=0"], "queries per second"),
        (&["--set", "target_qsp=1"], "target_qps"),
    ] {
        let error = with(flags);
        assert!(error.contains(part), "{flags:?}: {error}");
    }
    let error = refused(&["--benchmark", "resnet", "--scenario", "Server"]);
    assert!(error.contains("'resnet'") && error.contains("resnet50") && error.contains("digits"), "{error}");
    assert!(error.contains("did you mean resnet50?"), "{error}");
    // Of benchmarks that only a round knows, too.
    assert_eq!(json(&["--benchmark", "PointPainting", "--scenario", "SingleStream"])["benchmark"], "pointpainting");
    assert!(refused(&["--benchmark", "pointpaint", "--scenario", "Server"]).contains("did you mean pointpainting?"));
    assert!(refused(&["--scenario", "Server"]).contains("--benchmark"));
    assert!(refused(&["--config-vector", "/nowhere/c.json"]).contains("/nowhere/c.json"));
}

#[test]
fn files_with_crlf_and_other_encodings_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("user.conf");
    std::fs::write(&path, b"# Universit\xe9\r\n*.Server.target_qps = 50\r\n").unwrap();
    let path = path.to_str().unwrap();
    let view = json(&["--benchmark", "bert", "--scenario", "Server", "--user_conf", path, "--strict-conf"]);
    assert_eq!(setting(&view, "server_target_qps").0, 50.0);
}

#[test]
fn a_mode_flag_beats_conf_files_and_an_audit_file_beats_the_flag() {
    let folder = tempfile::tempdir().unwrap();
    let accuracy = new_file(folder.path(), "some.conf", "*.*.mode = 1\n");
    let flags = ["--benchmark", "bert", "--scenario", "Offline"];
    let mode = |more: &[&str]| json(&[&flags[..], more].concat())["mode"].clone();
    assert_eq!(mode(&[]), "PerformanceOnly");
    assert_eq!(mode(&["--user-conf", &accuracy]), "AccuracyOnly");
    assert_eq!(mode(&["--user-conf", &accuracy, "--mode", "SubmissionRun"]), "SubmissionRun");
    assert_eq!(mode(&["--audit-conf", &accuracy, "--mode", "SubmissionRun"]), "AccuracyOnly");
}

#[test]
fn config_vectors_are_evaluated() {
    let vectors = concat!(env!("CARGO_MANIFEST_DIR"), "/engine/tests/data/golden/config.json");
    let output = conf(&["--config-vector", vectors]);
    assert_eq!(output.status.code(), Some(0));
    let results: Value = serde_json::from_slice(&output.stdout).unwrap();
    let first = &results[0];
    assert_eq!((&first["name"], &first["return"]), (&"wildcards_and_units".into(), &0.into()));
    assert_eq!(first["changed"]["min_duration_ms"], 222);
}

#[test]
fn the_rule_for_integers_is_told() {
    let flags = ["--benchmark", "resnet50", "--scenario", "Server", "--rules", "v5.0"];
    assert_eq!(json(&flags)["integers"], "product", "wheels of both rules have the seeds of v5.0");
    let division = [&flags[..], &["--integers", "division"]].concat();
    assert_eq!(json(&division)["integers"], "division");
    assert!(String::from_utf8(conf(&division).stdout).unwrap().contains("\nintegers are drawn by division\n"));
    assert!(refused(&[&flags[..], &["--integers", "quotient"]].concat()).contains("product"));
}
