//! The command line explains itself, and what it does not know is an error with exit code 2.
#![allow(missing_docs, clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use loadgen::plan::Plan;
use loadgen::recorder::About;
use loadgen::report::{Trailer, summary_text};
use loadgen::run::{RunOptions, run};
use loadgen::settings::{Qsl, Scenario, TestSettings};
use loadgen::sim::{SimOptions, SimWorld};
use lon_run::documents::codec_advice::CodecAdvice;

fn loadgen_node(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_loadgen-node")).args(args).output().unwrap()
}

fn stdout(args: &[&str]) -> String {
    stdout_with(0, args)
}

fn stdout_with(code: i32, args: &[&str]) -> String {
    let output = loadgen_node(args);
    assert_eq!(output.status.code(), Some(code), "{args:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn help_lists_exit_codes_and_every_command_shows_an_example() {
    let help = stdout(&["--help"]);
    for part in ["Exit codes", "interrupted", "not official MLPerf results"] {
        assert!(help.contains(part), "{help}");
    }
    let demo = cfg!(feature = "demo").then_some("demo");
    for command in ["run", "trace", "replay", "accuracy"].into_iter().chain(demo) {
        assert!(help.contains(command), "{help}");
        let own = stdout(&[command, "--help"]);
        assert!(own.contains("Example") && own.contains(&format!("loadgen-node {command}")), "{own}");
    }
}

#[test]
fn a_program_that_gets_no_memory_says_so_and_exits_1() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("settings.json");
    let settings = r#"{"qsl":{"total":100,"performance":50},"settings":{"scenario":"Server","server_target_qps":1000,
        "min_query_count":2000000,"min_duration_ms":0}}"#;
    std::fs::write(&file, settings).unwrap();
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -v 150000 && exec \"$0\" trace --settings \"$1\"", env!("CARGO_BIN_EXE_loadgen-node")]);
    let output = command.arg(&file).env_remove("RUST_BACKTRACE").output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(message.contains("memory allocation of ") && message.contains(" bytes failed"), "{message}");
}

#[test]
fn what_is_not_known_is_an_error() {
    for args in [&["sail"][..], &["run"], &["trace"], &["demo", "--fast"], &[]] {
        assert_eq!(loadgen_node(args).status.code(), Some(2), "{args:?}");
    }
}

#[test]
fn a_trace_is_printed_whole_or_as_digests() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("settings.json");
    let settings = r#"{"qsl":{"total":100,"performance":50},
        "settings":{"scenario":"Server","server_target_qps":1000,"min_query_count":700,"min_duration_ms":0}}"#;
    std::fs::write(&file, settings).unwrap();
    let path = file.to_str().unwrap();
    let trace = |args: &[&str]| serde_json::from_str::<serde_json::Value>(&stdout(args)).unwrap();
    let whole = trace(&["trace", "--settings", path]);
    assert_eq!(whole["phases"][0]["schedule_ns"].as_array().unwrap().len(), 700);
    let digest = trace(&["trace", "--settings", path, "--digest"]);
    assert_eq!(digest["phases"][0]["schedule_ns"]["count"], 700);
    assert_eq!(digest["phases"][0]["loaded_set"], whole["phases"][0]["loaded_set"]);
}

/// Compares with the numbers that the wheels 5.0.18 (built with GCC 10) and 5.0.21 loaded with the seeds of v5.0.
#[test]
fn a_trace_draws_integers_as_the_wheel_did() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("settings.json");
    let settings = r#"{"qsl":{"total":50000,"performance":1024},"settings":{"scenario":"Server",
        "server_target_qps":1000,"min_query_count":1000,"min_duration_ms":0,"qsl_rng_seed":6023615788873153749,
        "sample_index_rng_seed":15036839855038426416,"schedule_rng_seed":9933818062894767841}}"#;
    std::fs::write(&file, settings).unwrap();
    let first = |flags: &[&str]| {
        let arguments = [&["trace", "--settings", file.to_str().unwrap(), "--rules", "v5.0"], flags].concat();
        let trace: serde_json::Value = serde_json::from_str(&stdout(&arguments)).unwrap();
        let of = |key: &str| trace["phases"][0][key].as_array().unwrap()[..4].to_vec();
        [of("loaded_set"), of("sample_indices")]
            .map(|list| list.iter().map(|n| n.as_u64().unwrap()).collect::<Vec<_>>())
    };
    let division = [[7_512, 27_907, 8_575, 16_768], [33_421, 4_941, 31_810, 18_515]].map(Vec::from);
    let product = [[31_325, 35_607, 20_183, 33_975], [16_200, 42_216, 11_862, 46_780]].map(Vec::from);
    assert_eq!(first(&["--integers", "division"]), division);
    assert_eq!(first(&["--integers", "product"]), product);
    assert_eq!(first(&[]), product, "wheels of both kinds have the seeds of v5.0");
    let output = loadgen_node(&["trace", "--settings", file.to_str().unwrap(), "--integers", "divide"]);
    assert_eq!(output.status.code(), Some(2), "a rule that is not known");
}

/// A recorded run: its timeline file, and the summary file that it was reported with.
fn recorded(folder: &Path) -> (PathBuf, String) {
    recorded_on(folder, SimOptions::default())
}

fn recorded_on(folder: &Path, sut: SimOptions) -> (PathBuf, String) {
    let settings = TestSettings {
        scenario: Scenario::SERVER,
        server_target_qps: 500.0,
        server_target_latency_percentile: 95.0 * 0.01,
        min_query_count: 700,
        min_duration_ms: 0,
        ..TestSettings::default()
    };
    let qsl = Qsl { total: 50, performance: 50 };
    let plan = Plan::new(settings.clone(), qsl).unwrap();
    let outcome = run(&plan, &mut SimWorld::new(sut), &mut (), RunOptions::default());
    let (sut_name, warnings, errors) = ("a \"SUT\"".to_owned(), 3, 1);
    let trailer = Trailer { warnings, errors };
    let summary = summary_text(&plan, outcome.summary.as_ref().unwrap(), &outcome.verdict, &sut_name, trailer);
    let path = folder.join("timeline.bin");
    let timeline = outcome.performance().unwrap().timeline.as_ref().unwrap();
    let about = About { settings, qsl, sut_name, warnings, errors, reasons: outcome.verdict.lasting() };
    timeline.write_to(&about, &mut std::fs::File::create(&path).unwrap()).unwrap();
    (path, summary)
}

#[test]
fn a_recorded_run_is_judged_again_as_it_was_or_by_other_rules() {
    let folder = tempfile::tempdir().unwrap();
    let (path, summary) = recorded(folder.path());
    let path = path.to_str().unwrap();
    assert_eq!(stdout(&["replay", "--timeline", path]), summary);
    let json = |args: &[&str]| serde_json::from_str::<serde_json::Value>(&stdout(args)).unwrap();
    let own = json(&["replay", "--timeline", path, "--json"]);
    assert_eq!(own["summary"].as_str(), Some(summary.as_str()));
    assert_eq!(own["detail"][0], serde_json::json!(["result_validity", "\"VALID\""]));
    let invalid = |args: &[&str]| stdout_with(3, args);
    let stricter = invalid(&["replay", "--timeline", path, "--json", "--set", "target_latency=0"]);
    let stricter: serde_json::Value = serde_json::from_str(&stricter).unwrap();
    assert_eq!(stricter["detail"][0], serde_json::json!(["result_validity", "\"INVALID\""]));
    let file = folder.path().join("s.json");
    std::fs::write(&file, r#"{"settings":{"scenario":"Server","min_query_count":701,"min_duration_ms":0}}"#).unwrap();
    let text = invalid(&["replay", "--timeline", path, "--settings", file.to_str().unwrap()]);
    assert!(text.contains("Min queries satisfied : NO"), "{text}");
}

#[test]
fn a_run_with_losses_stays_invalid_under_any_settings() {
    let folder = tempfile::tempdir().unwrap();
    for sut in [
        SimOptions { failing: 0.01, ..SimOptions::default() },
        SimOptions { duplicated: 0.01, ..SimOptions::default() },
    ] {
        let (path, summary) = recorded_on(folder.path(), sut);
        let path = path.to_str().unwrap();
        assert_eq!(stdout_with(3, &["replay", "--timeline", path]), summary);
        let lenient = ["target_latency=60000", "min_query_count=1", "target_latency_percentile=50"];
        let lenient: Vec<&str> = lenient.iter().flat_map(|set| ["--set", set]).collect();
        let text = stdout_with(3, &[&["replay", "--timeline", path][..], &lenient].concat());
        let rules =
            "Performance constraints satisfied : Yes\n  Min duration satisfied : Yes\n  Min queries satisfied : Yes";
        assert!(text.contains("Result is : INVALID\n") && text.contains(rules), "{text}");
        assert!(text.contains("  Not valid, because: "), "{text}");
    }
}

#[test]
fn a_record_of_an_earlier_version_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let (path, _) = recorded(folder.path());
    let mut old = std::fs::read(&path).unwrap();
    old[..8].copy_from_slice(b"LONTIME2");
    std::fs::write(&path, old).unwrap();
    let output = loadgen_node(&["replay", "--timeline", path.to_str().unwrap()]);
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(2) && message.contains("earlier version"), "{message}");
}

#[test]
fn a_damaged_record_is_an_error_that_names_file_and_place() {
    let folder = tempfile::tempdir().unwrap();
    let (path, _) = recorded(folder.path());
    let whole = std::fs::read(&path).unwrap();
    let mut altered = whole.clone();
    altered[whole.len() - 100] ^= 1;
    let cases = [(&whole[..whole.len() / 2], "truncated: it ends after byte"), (&altered, "altered or damaged in its")];
    for (bytes, part) in cases {
        std::fs::write(&path, bytes).unwrap();
        let output = loadgen_node(&["replay", "--timeline", path.to_str().unwrap()]);
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(
            message.contains(part) && message.contains("timeline.bin") && message.lines().count() == 1,
            "{message}"
        );
    }
    let odd = ["replay", "--timeline", "x", "--report-vector", "y"];
    assert_eq!(loadgen_node(&odd).status.code(), Some(2));
    assert_eq!(loadgen_node(&["replay", "--set", "target_qps=1"]).status.code(), Some(2));
}

#[test]
fn a_run_without_answers_to_score_is_told_apart_from_missing_ones() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("mlperf_log_accuracy.json", "[\n]\n");
    for (mode, part) in [("PerformanceOnly", "run with --mode AccuracyOnly"), ("AccuracyOnly", "has no answer")] {
        let summary = format!(r#"{{"benchmark":"digits","dataset":"digits","mode":"{mode}"}}"#);
        write("result_summary.json", &summary);
        let output = loadgen_node(&["accuracy", folder.path().to_str().unwrap()]);
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains(part), "{mode}: {message}");
    }
}

/// The log of a performance run with some answers, as compliance test 01 asks for.
#[test]
fn some_answers_of_a_performance_run_are_scored_without_a_verdict() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("result_summary.json", r#"{"benchmark":"digits","dataset":"digits","mode":"PerformanceOnly"}"#);
    // All of them say 0, of which there are some: the target is missed by far, and nothing is said of that.
    let zero = "0000000000000000";
    let entry = |seq: usize| format!(r#"{{ "seq_id" : {seq}, "qsl_idx" : {}, "data" : "{zero}" }}"#, 3 * (seq % 40));
    let entries: Vec<String> = (0..60).map(entry).collect();
    write("mlperf_log_accuracy.json", &format!("[\n{}\n]\n", entries.join(",\n")));
    let path = folder.path().to_str().unwrap();
    let text = stdout(&["accuracy", path]);
    assert!(text.contains(" on 40 of 450 samples") && text.contains("no verdict"), "{text}");
    let document: serde_json::Value = serde_json::from_str(&stdout(&["accuracy", "--json", path])).unwrap();
    assert_eq!((&document["samples"], &document["of_samples"]), (&40.into(), &450.into()), "{document}");
    assert!(document.get("target").is_none() && document.get("passed").is_none(), "{document}");
    let value = document["value"].as_f64().unwrap();
    assert!(value > 0.0 && value < 40.0, "{document}");
    let csv = stdout(&["accuracy", "--format", "csv", path]);
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines[0], "metric,value,unit,samples,of samples,why");
    assert!(lines.len() == 2 && lines[1].starts_with("top1,") && lines[1].ends_with(",%,40,450,"), "{csv}");
    let markdown = stdout(&["accuracy", "--format", "md", path]);
    assert!(markdown.starts_with("| metric | value | unit |") && markdown.contains("| 40 | 450 |"), "{markdown}");
    // A run of all samples has to have them all.
    write("result_summary.json", r#"{"benchmark":"digits","dataset":"digits","mode":"AccuracyOnly"}"#);
    let output = loadgen_node(&["accuracy", path]);
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(2) && message.contains("has no answer: 40 of 450"), "{message}");
}

/// `--compression auto` is no run: neither its folder nor its nodes matter.
#[test]
fn advice_on_codecs_needs_no_run_folder_and_no_node() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let flags = ["--sut", "192.0.2.1:1", "--benchmark", "synthetic", "--scenario", "Offline", "--out", out];
    let data = ["--dataset", "synthetic:u8[64]x8", "--compression", "auto"];
    let args: Vec<&str> = ["run"].into_iter().chain(flags).chain(data).collect();
    let output = loadgen_node(&args);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stdout).contains("wins below"));
    let printed = |format: &str| {
        let output = loadgen_node(&[&args[..], &["--format", format]].concat());
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let document: CodecAdvice = serde_json::from_str(&printed("json")).unwrap();
    assert!(document.samples == 8 && document.codecs.len() == 6, "{document:?}");
    let (csv, markdown) = (printed("csv"), printed("md"));
    assert!(csv.starts_with("codec,ratio,encode_bytes_per_s,") && csv.lines().count() == 7, "{csv}");
    assert!(markdown.starts_with("| codec | ratio |") && markdown.contains("| lz4 | "), "{markdown}");
    let run: Vec<&str> = args[..args.len() - 2].iter().copied().chain(["--format", "csv"]).collect();
    let refused = loadgen_node(&run);
    let message = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(refused.status.code() == Some(2) && message.contains("--compression auto"), "{message}");
}
