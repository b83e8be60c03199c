//! Datasets of users: folders and files on the disk, over the network, to bytes that are accounted for and to a score.

use std::fs;
use std::path::{Path, PathBuf};

use jpeg_encoder::{ColorType, Encoder};
use lon_tests::process::{Finished, LoadGen, SutNode, repository};
use lon_tests::run_folder::RunFolder;
use lon_tests::test_run::TestRun;
use tempfile::TempDir;

fn folder() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_owned();
    (folder, path)
}

fn arg(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// JPEGs of several sizes, all of class 0 but the last `others`.
fn images(count: usize, others: usize) -> (TempDir, PathBuf) {
    let (guard, path) = folder();
    let mut map = String::new();
    for number in 0..count {
        let (width, height) = (40 + 7 * number as u16, 90 - 5 * number as u16);
        let bytes = u32::from(width) * u32::from(height) * 3;
        let data: Vec<u8> = (0..bytes).map(|byte| (byte / 7 + number as u32) as u8).collect();
        let mut file = Vec::new();
        Encoder::new(&mut file, 90).encode(&data, width, height, ColorType::Rgb).unwrap();
        fs::write(path.join(format!("{number}.jpg")), file).unwrap();
        map += &format!("{number}.jpg {}\n", u8::from(number >= count - others));
    }
    fs::write(path.join("val_map.txt"), map).unwrap();
    (guard, path)
}

/// One that ends in the middle is named: before the run where every sample is read, else in the result.
#[test]
fn a_truncated_picture_is_named_before_the_run_or_in_its_result() {
    let node = SutNode::start("a", "null", &["--preprocess", "imagenet-caffe"]);
    let (_guard, path) = images(8, 0);
    let whole = fs::read(path.join("5.jpg")).unwrap();
    fs::write(path.join("5.jpg"), &whole[..whole.len() / 2]).unwrap();
    let run = |scenario| {
        let test = TestRun::of("resnet50", scenario).on(&node.address);
        test.set("min_duration=0,min_query_count=8,target_qps=100").args(&[
            "--dataset",
            arg(&path),
            "--compression",
            "original",
        ])
    };
    let (checked, nothing) = run("Offline").args(&["--verify-dataset"]).finish();
    refused(&checked, &["--verify-dataset", "sample 5", "5.jpg", "truncated"]);
    assert!(!nothing.path.exists());
    let (finished, folder) = run("Offline").finish();
    assert_ne!(finished.code, Some(0), "{finished:?}");
    let reasons = folder.result()["reasons"].to_string();
    assert!(reasons.contains("5.jpg") && reasons.contains("truncated"), "{reasons}");
    // Another picture in its place, and every sample can be read.
    fs::write(path.join("5.jpg"), whole).unwrap();
    let (checked, _folder) = run("Offline").args(&["--verify-dataset"]).finish();
    assert!(matches!(checked.code, Some(0 | 3)) && checked.stderr.contains("every sample can be read samples=8"));
}

/// A run that went well, whatever its timing.
fn went_well(test: TestRun) -> (Finished, RunFolder) {
    let (finished, folder) = test.finish();
    assert!(matches!(finished.code, Some(0 | 3)), "{finished:?}");
    folder.assert_complete();
    let result = folder.result();
    assert_eq!(result["counts"]["issued"], result["counts"]["completed"], "{finished:?}");
    (finished, folder)
}

/// Bytes of samples towards the SUT, before any codec, and how many samples there were.
fn tensor_bytes(folder: &RunFolder) -> (u64, u64) {
    let samples = folder.result()["counts"]["issued"].as_u64().unwrap();
    (folder.network_report().count("/total/tensor_bytes/ingress"), samples)
}

fn refused(finished: &Finished, parts: &[&str]) {
    assert_eq!(finished.code, Some(2), "{finished:?}");
    for part in parts {
        assert!(finished.stderr.contains(part), "no '{part}' in: {}", finished.stderr);
    }
}

const SHORT: &str = "min_duration=0,min_query_count=40,target_qps=200";

#[test]
fn a_folder_of_jpegs_crosses_as_tensors() {
    let node = SutNode::start("a", "null", &[]);
    let (_guard, path) = images(6, 0);
    for (spec, codec, sample_bytes) in [
        ("resize=20,crop=16,dtype=u8", "none", 16 + 3 * 16 * 16),
        ("resize=10x30,dtype=f16,layout=nhwc", "zstd", 16 + 2 * 3 * 10 * 30),
    ] {
        let test = TestRun::of("synthetic", "Server").on(&node.address).set(SHORT);
        let (finished, folder) =
            went_well(test.args(&["--dataset", arg(&path), "--preprocess", spec, "--compression", codec]));
        let (bytes, samples) = tensor_bytes(&folder);
        assert_eq!(bytes, samples * sample_bytes, "{spec}");
        assert!(finished.stderr.contains("samples loaded samples=6 "), "{}", finished.stderr);
    }
}

#[test]
fn token_ids_and_prompts_cross_as_they_are_documented() {
    let node = SutNode::start("a", "null", &[]);
    let (_guard, path) = folder();
    let (ids, prompts) = (path.join("ids.jsonl"), path.join("prompts.jsonl"));
    fs::write(&ids, "{\"input_ids\":[1,2,3],\"max_tokens\":4}\n{\"input_ids\":[9,8,7],\"max_tokens\":5}\n").unwrap();
    fs::write(&prompts, "{\"prompt\":\"who?\"}\n{\"prompt\":\"why?\"}\n{\"prompt\":\"h\u{fc}h\"}\n").unwrap();
    // Header and padding, 3 ids, one i32; header, 4 bytes of UTF-8.
    for (file, sample_bytes) in [(&ids, 16 + 24 + 4), (&prompts, 8 + 4)] {
        let test = TestRun::of("synthetic", "Server").on(&node.address).set(SHORT);
        let (_, folder) = went_well(test.args(&["--dataset", arg(file)]));
        let (bytes, samples) = tensor_bytes(&folder);
        assert_eq!(bytes, samples * sample_bytes, "{}", file.display());
    }
    // As BERT reads them: three inputs, padded.
    let bert = path.join("features.jsonl");
    fs::write(&bert, "{\"input_ids\":[101,102]}\n").unwrap();
    let test = TestRun::of("bert", "Server").on(&node.address).set(SHORT).args(&["--dataset", arg(&bert)]);
    let (bytes, samples) = tensor_bytes(&went_well(test).1);
    assert_eq!(bytes, samples * (24 + 3 * 384 * 8));
}

/// Eight bytes of zeros are the answer "class 0".
#[test]
fn classes_are_scored_against_the_labels_beside_the_images() {
    let node = SutNode::start("a", "null", &[]);
    for (others, code, score, passed) in [(0, 0, 100.0, true), (2, 3, 60.0, false)] {
        let (_guard, path) = images(5, others);
        let test = TestRun::of("resnet50", "Offline").on(&node.address).set("min_duration=0,min_query_count=1");
        let (finished, folder) = test.args(&["--mode", "AccuracyOnly", "--dataset", arg(&path)]).finish();
        assert_eq!(finished.code, Some(code), "{finished:?}");
        assert_eq!(folder.result()["accuracy"]["value"], score, "{finished:?}");
        let again = LoadGen::run(&["accuracy", folder.arg(), "--dataset", arg(&path), "--json"]);
        assert_eq!(again.code, Some(code), "{again:?}");
        let json: serde_json::Value = serde_json::from_str(&again.stdout).unwrap();
        assert_eq!((&json["metric"], &json["value"], &json["samples"]), (&"top1".into(), &score.into(), &5.into()));
        assert_eq!((&json["target"], &json["passed"]), (&75.6954.into(), &passed.into()));
    }
}

#[test]
fn what_is_wrong_is_found_before_any_node_is_asked() {
    let run = |benchmark: &str, more: &[&str]| {
        let base = ["run", "--sut", "127.0.0.1:1", "--scenario", "Server", "--benchmark", benchmark];
        LoadGen::run(&[&base, more].concat())
    };
    let (_guard, path) = images(3, 0);
    fs::write(path.join("val_map.txt"), "0.jpg 0\n1.jpg\n2.jpg 1\n").unwrap();
    let accuracy = ["--dataset", arg(&path), "--mode", "AccuracyOnly"];
    refused(&run("resnet50", &accuracy), &["sample 1 of", "no label"]);
    refused(&run("synthetic", &["--dataset", arg(&path)]), &["--preprocess"]);
    refused(&run("synthetic", &["--dataset", arg(&path), "--preprocess", "crop=2,color=rgb"]), &["'color=rgb'"]);
    refused(&run("synthetic", &["--dataset", "synthetic:u8[4]x4", "--compression", "original"]), &["original", "JPEG"]);
    let answers = ["--dataset", "synthetic:u8[4]x4", "--response-compression", "original"];
    refused(&run("synthetic", &answers), &["--response-compression original"]);
    let lines = path.join("lines.jsonl");
    fs::write(&lines, "{\"prompt\":\"x\"}\n{\"prompt\":}\n").unwrap();
    refused(&run("synthetic", &["--dataset", arg(&lines)]), &["lines.jsonl", "line 2"]);
    // A file that is not what it was.
    fs::write(path.join("SHA256SUMS"), format!("{}  0.jpg\n", "0".repeat(64))).unwrap();
    fs::write(path.join("val_map.txt"), "0.jpg 0\n").unwrap();
    refused(&run("resnet50", &["--dataset", arg(&path)]), &["0.jpg", "altered", "SHA-256"]);
    let whole = fs::read(path.join("2.jpg")).unwrap();
    fs::remove_file(path.join("SHA256SUMS")).unwrap();
    fs::write(path.join("0.jpg"), &whole[..whole.len() - 40]).unwrap();
    refused(&run("resnet50", &["--dataset", arg(&path)]), &["sample 0", "0.jpg", "truncated"]);
}

/// A node without a preprocessing of its own cannot use files.
#[test]
fn files_as_they_are_need_a_node_that_decodes_them() {
    let node = SutNode::start("a", "null", &[]);
    let (_guard, path) = images(2, 0);
    let test = TestRun::of("synthetic", "Server").on(&node.address).set(SHORT);
    let (finished, folder) = test.args(&["--dataset", arg(&path), "--compression", "original"]).finish();
    assert!(matches!(finished.code, Some(2 | 4)), "{finished:?}");
    assert!(finished.stderr.contains("original") && !folder.path.exists(), "{finished:?}");
    assert!(finished.stderr.contains("--preprocess"), "{finished:?}");
}

/// Several items of a dataset are one sample, the folder has which, and from that the same samples are made again.
#[test]
fn aggregated_samples_leave_a_trace_from_which_they_are_made_again() {
    let node = SutNode::start("a", "null", &[]);
    let run = |aggregate: &str| {
        let test = TestRun::new("Offline").patient().on(&node.address);
        let test = test.dataset("synthetic:f16[13]+i32[214]x500").set(SHORT);
        let (finished, folder) = test.args(&["--aggregate", aggregate]).finish();
        (finished, folder)
    };
    let (finished, folder) = run("uniform=1..7");
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let result = folder.result();
    assert!(result["dataset"].as_str().unwrap().ends_with("(uniform=1..7)"), "{result}");
    let trace = folder.path.join("aggregation_trace.txt");
    let text = fs::read_to_string(&trace).unwrap();
    assert!(text.starts_with("0, ") && text.trim_end().contains(", 500, "), "{text}");
    assert!(result["files"].get("aggregation_trace.txt").is_some(), "{result}");
    let (finished, again) = run(&format!("trace={}", arg(&trace)));
    assert_eq!(finished.code, Some(0), "{finished:?}");
    assert_eq!(fs::read_to_string(again.path.join("aggregation_trace.txt")).unwrap(), text);
    let request_bytes = |result: &serde_json::Value| result["network"]["nodes"][0]["tensor_bytes"].clone();
    assert_eq!(request_bytes(&result), request_bytes(&again.result()));
    let (finished, folder) = run("fixed=0");
    assert!(finished.code == Some(2) && finished.stderr.contains("uniform=LEAST..MOST"), "{finished:?}");
    assert!(!folder.path.exists());
}

#[test]
fn conf_answers_at_once_whatever_the_dataset() {
    let (_guard, path) = folder();
    let (count, file) = (40_000_000_000_u64, path.join("huge.npy"));
    let header = format!("{{'descr': '|u1', 'fortran_order': False, 'shape': ({}, 1000), }}\n", count / 1000);
    let head = [&b"\x93NUMPY\x01\x00"[..], &(header.len() as u16).to_le_bytes(), header.as_bytes()].concat();
    fs::write(&file, &head).unwrap();
    // Its bytes are a hole in the file.
    fs::File::options().write(true).open(&file).unwrap().set_len(head.len() as u64 + count).unwrap();
    let finished = LoadGen::run(&["conf", "--benchmark", "synthetic", "--scenario", "Server", "--dataset", arg(&file)]);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    assert!(finished.stdout.contains("40000000") || finished.stdout.contains("40.0"), "{}", finished.stdout);
}

/// An accuracy run whose target nobody could judge: warned of beforehand, INVALID, and all the same logged.
fn is_not_judged((finished, folder): (Finished, RunFolder), data: &str) {
    let parent = Path::new(data).parent().unwrap().display();
    let lacks = format!("{data} has no labels (labels.txt or labels.npy in the folder {parent})");
    assert!(finished.code == Some(3) && finished.stderr.contains(&lacks), "{finished:?}");
    let result = folder.result();
    let reason = format!("the accuracy target top1 >= 1 % was not judged: {lacks}");
    assert_eq!((&result["result"], &result["reasons"]), (&"INVALID".into(), &serde_json::json!([reason])));
    assert!(result["accuracy"].is_null() && result["accuracy_note"].is_string(), "{result}");
    let log = fs::read_to_string(folder.path.join("mlperf_log_accuracy.json")).unwrap();
    assert_eq!(log.matches("qsl_idx").count(), 16, "{log}");
}

/// From a node's model to a run that is scored, with nothing written by hand but the labels.
#[test]
fn a_benchmark_is_begun_for_the_model_of_a_node() {
    let (_guard, path) = folder();
    let file = path.join("mine.toml");
    let model = repository("loadgen-node/qsl/digits/digits.onnx");
    let node = SutNode::start("a", &format!("onnx:{}", model.display()), &[]);
    let init = LoadGen::run(&["benchmark", "init", arg(&file), "--sut", &node.address]);
    assert_eq!(init.code, Some(0), "{init:?}");
    for part in [
        "image u8[N,1,8,8]",
        "mine.npy",
        "--benchmark",
        "16 samples of zeros",
        "--scenario Server",
        "--mode SubmissionRun",
    ] {
        assert!(init.stdout.contains(part), "{part}: {init:?}");
    }
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, format!("{text}[accuracy]\nmetric = \"top1\"\ntarget = 1.0\n")).unwrap();
    let data = path.join("mine.npy");
    let run = || {
        let run = TestRun::of(arg(&file), "Offline").on(&node.address).set("min_duration=0,min_query_count=1");
        run.args(&["--mode", "AccuracyOnly", "--dataset", arg(&data)]).finish()
    };
    is_not_judged(run(), arg(&data));
    fs::write(path.join("labels.txt"), "1\n".repeat(16)).unwrap();
    let (finished, folder) = run();
    // All zeros get one class, so the score is 0 or 100.
    let score = &folder.result()["accuracy"]["value"];
    assert!(*score == 0.0 || *score == 100.0, "{score} {finished:?}");
    let again = LoadGen::run(&["benchmark", "init", arg(&file), "--sut", &node.address]);
    assert!(again.code == Some(2) && again.stderr.contains("mine.toml"), "{again:?}");
}
