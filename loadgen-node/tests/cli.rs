//! The command line explains itself, and what it does not know is an error with exit code 2.
#![allow(missing_docs, clippy::unwrap_used)]

use std::process::{Command, Output};

fn loadgen_node(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_loadgen-node")).args(args).output().unwrap()
}

fn stdout(args: &[&str]) -> String {
    let output = loadgen_node(args);
    assert_eq!(output.status.code(), Some(0), "{args:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn help_lists_exit_codes_and_every_command_shows_an_example() {
    let help = stdout(&["--help"]);
    for part in ["Exit codes", "interrupted", "not official MLPerf results"] {
        assert!(help.contains(part), "{help}");
    }
    for command in ["run", "demo", "trace", "replay", "accuracy"] {
        assert!(help.contains(command), "{help}");
        let own = stdout(&[command, "--help"]);
        assert!(own.contains("Example") && own.contains(&format!("loadgen-node {command}")), "{own}");
    }
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
