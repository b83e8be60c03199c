//! Flags, settings, files and models that do not fit: one clear error, exit 2, nothing left behind.

use std::fs;
use std::path::Path;

use lon_tests::process::{Finished, LoadGen, SutNode, binary, repository};
use lon_tests::run_folder::RunFolder;
use lon_tests::test_run::TestRun;

fn refused(args: &[&str], parts: &[&str]) {
    let finished = LoadGen::run(args);
    assert_refused(&finished, parts);
}

fn assert_refused(finished: &Finished, parts: &[&str]) {
    assert_eq!(finished.code, Some(2), "{finished:?}");
    for part in parts {
        assert!(finished.stderr.contains(part), "no '{part}' in: {}", finished.stderr);
    }
}

const RUN: [&str; 7] = ["run", "--sut", "127.0.0.1:1", "--benchmark", "digits", "--scenario", "Server"];

fn with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    RUN.iter().copied().chain(more.iter().copied()).collect()
}

#[test]
fn an_output_folder_that_exists_is_left_alone() {
    let folder = RunFolder::new();
    fs::create_dir(&folder.path).unwrap();
    fs::write(folder.path.join("mine"), "").unwrap();
    refused(&with(&["--out", folder.arg()]), &[folder.arg(), "exists"]);
    assert!(folder.path.join("mine").exists());
}

fn copy_of_digits(folder: &Path) {
    for name in ["digits.onnx", "images.npy", "labels.npy", "SHA256SUMS"] {
        fs::copy(repository("loadgen-node/qsl/digits").join(name), folder.join(name)).unwrap();
    }
}

#[test]
fn altered_data_is_named_with_its_sums() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    refused(&with(&["--dataset", "/no/such/folder"]), &["/no/such/folder"]);
    copy_of_digits(folder.path());
    let images = folder.path().join("images.npy");
    let mut bytes = fs::read(&images).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&images, &bytes).unwrap();
    refused(&with(&["--dataset", path]), &["images.npy", "altered", "SHA-256"]);
    fs::write(&images, &bytes[..100]).unwrap();
    refused(&with(&["--dataset", path]), &["images.npy", "truncated", "100 bytes"]);
    fs::remove_file(&images).unwrap();
    refused(&with(&["--dataset", path]), &["images.npy"]);
}

fn sut_node(backend: &str) -> Finished {
    let output = std::process::Command::new(binary("sut-node"))
        .args(["serve", "--listen", "127.0.0.1:0", "--node", "n", "--backend", backend])
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Finished {
        code: output.status.code(),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
        ..Finished::default()
    }
}

#[test]
fn an_altered_model_is_named_with_its_sums() {
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("digits.onnx");
    let backend = format!("onnx:{}", model.display());
    assert_refused(&sut_node(&backend), &["digits.onnx"]);
    copy_of_digits(folder.path());
    let whole = fs::read(&model).unwrap();
    let mut altered = whole.clone();
    *altered.last_mut().unwrap() ^= 1;
    fs::write(&model, &altered).unwrap();
    assert_refused(&sut_node(&backend), &["digits.onnx", "SHA"]);
    // Without a list of sums it is still no model.
    fs::remove_file(folder.path().join("SHA256SUMS")).unwrap();
    fs::write(&model, &whole[..whole.len() / 2]).unwrap();
    assert_refused(&sut_node(&backend), &["digits.onnx"]);
}

#[test]
fn backends_that_do_not_exist_list_those_that_do() {
    assert_refused(&sut_node("tensorrt:x"), &["tensorrt:x", "onnx:", "null"]);
    assert_refused(&sut_node("synthetic:wobbly=3"), &["wobbly", "constant"]);
}

#[test]
fn a_model_that_does_not_fit_the_samples_shows_both_signatures() {
    let backend = format!("onnx:{}", repository("loadgen-node/qsl/digits/digits.onnx").display());
    let node = SutNode::start("a", &backend, &[]);
    let test = TestRun::new("Offline").on(&node.address).dataset("synthetic:f32[3,224,224]x4");
    let (finished, folder) = test.finish();
    assert_refused(&finished, &["f32[3,224,224]", "image u8[N,1,8,8]", &node.address]);
    assert!(!folder.path.exists());
}

#[test]
fn vectors_that_cannot_be_read_are_named() {
    refused(&["trace", "--settings", "/no/such.json"], &["/no/such.json"]);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("s.json");
    let path = file.to_str().unwrap();
    fs::write(&file, r#"{"qsl":{"total":4,"performance":4},"settings":{"scenario":"Server","server_qps":1}}"#).unwrap();
    refused(&["trace", "--settings", path], &["server_qps"]);
    fs::write(&file, "{").unwrap();
    refused(&["trace", "--settings", path], &["s.json"]);
    refused(&["replay", "--report-vector", path], &["s.json"]);
}

#[test]
fn scoring_asks_for_a_run_folder() {
    refused(&["accuracy", "/no/such/folder"], &["/no/such/folder"]);
}
