//! The command line explains itself, and what it does not know is an error with exit code 2.
#![allow(missing_docs, clippy::unwrap_used)]

use std::process::{Command, Output};

fn sut_node(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_sut-node")).args(args).output().unwrap()
}

#[test]
fn every_command_shows_an_example() {
    for command in ["serve", "describe"] {
        let output = sut_node(&[command, "--help"]);
        let help = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(0));
        assert!(help.contains("Example") && help.contains(&format!("sut-node {command}")), "{help}");
    }
}

#[test]
fn what_is_not_known_is_an_error_that_names_it() {
    for (args, part) in [
        (&["serve"][..], "--backend"),
        (&["serve", "--backend", "null", "--node", "a,b"], "a,b"),
        (&["serve", "--backend", "null", "--max-batch", "0"], "max-batch"),
        (&["serve", "--backend", "null", "--max-delay", "5"], "max-delay"),
        (&["serve", "--backend", "null", "--io-threads", "0"], "io-threads"),
        (&["serve", "--backend", "null", "--server-timeout", "0s"], "server-timeout"),
        (&["serve", "--backend", "null", "--decode-threads", "x"], "decode-threads"),
        (&["serve", "--backend", "null", "--listen", "nowhere"], "nowhere"),
        (&["serve", "--listen", "127.0.0.1:0", "--backend", "nul"], "'nul'"),
        (&["serve", "--listen", "127.0.0.1:0", "--backend", "a=null", "--backend", "null"], "NAME=null"),
        (&["serve", "--listen", "127.0.0.1:0", "--backend", "a=null", "--backend", "a=null"], "two models"),
        (&["serve", "--listen", "127.0.0.1:0", "--backend", "a=null", "--backend", "b=nul"], "model b: 'nul'"),
        (&["serve", "--listen", "127.0.0.1:0", "--backend", "a=null", "--workers", "b=2"], "no such model"),
        (&["describe", "--backend", "a=null", "--backend", "b=null"], "one model at a time"),
        (&["bench", "--backend", "a=null", "--backend", "b=null"], "one model at a time"),
    ] {
        let output = sut_node(args);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {stderr}");
        assert!(stderr.contains(part), "{args:?}: {stderr}");
    }
}

#[test]
fn flags_that_suit_one_model_alone_are_refused_with_several() {
    for flags in [
        &["--outputs", "x"][..],
        &["--inputs", "x"],
        &["--dims", "seq=128"],
        &["--batch-dim", "none"],
        &["--allow-empty"],
    ] {
        let two = ["serve", "--listen", "127.0.0.1:0", "--backend", "a=onnx:a.onnx", "--backend", "b=onnx:b.onnx"];
        let output = sut_node(&[&two, flags].concat());
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{flags:?}: {stderr}");
        assert!(stderr.contains(flags[0]) && stderr.contains("is for one model"), "{stderr}");
    }
}

#[test]
fn a_result_that_cannot_be_written_is_told_before_anything_is_measured() {
    let folder = tempfile::tempdir().unwrap();
    let (nowhere, old) = (folder.path().join("no/b.json"), folder.path().join("old.json"));
    std::fs::write(&old, "as it was").unwrap();
    // Longer than any test may take.
    let bench = |file: &std::path::Path, backend: &str| {
        let output = sut_node(&["bench", "--backend", backend, "--seconds", "3600", "--out", file.to_str().unwrap()]);
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    for file in [nowhere.as_path(), folder.path()] {
        let (code, stderr) = bench(file, "null");
        assert!(code == Some(2) && stderr.contains(file.to_str().unwrap()) && stderr.contains("--out"), "{stderr}");
    }
    assert_eq!(bench(&old, "nul").0, Some(2));
    assert_eq!(bench(&folder.path().join("new.json"), "nul").0, Some(2));
    assert_eq!(std::fs::read_to_string(&old).unwrap(), "as it was");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left behind");
}

#[test]
fn a_port_in_use_is_named() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let output = sut_node(&["serve", "--backend", "null", "--listen", &address]);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr.contains(&address) && stderr.contains("--listen"), "{stderr}");
}
