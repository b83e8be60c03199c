//! Stages around inference at a SUT node, over the network: pre- and post-processing as stages of their own, batches of
//! one shape, NaN in the results. The tests also cover `sut-node bench`, which is the same without a network.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use jpeg_encoder::{ColorType, Encoder};
use lon_tests::process::{SutNode, binary, repository};
use lon_tests::run_folder::RunFolder;
use lon_tests::test_run::TestRun;
use nix::sys::signal::Signal;
use serde_json::Value;

fn digits() -> String {
    format!("onnx:{}", repository("loadgen-node/qsl/digits/digits.onnx").display())
}

fn arg(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A run in which every sample was answered and both ends counted the same, whatever its timing.
fn answered(test: TestRun) -> RunFolder {
    let (finished, folder) = test.finish();
    assert!(matches!(finished.code, Some(0 | 3)), "{finished:?}");
    let result = folder.result();
    assert_eq!(result["counts"]["issued"], result["counts"]["completed"], "{finished:?}");
    let reasons = result["reasons"].to_string();
    assert!(!reasons.contains("bytes") && !reasons.contains("failed"), "{reasons}");
    folder
}

/// The p99 of a stage, ns.
fn stage(result: &Value, name: &str) -> u64 {
    result["network"]["latency_split_ns"][name]["p99"].as_u64().unwrap_or_else(|| panic!("no stage {name}: {result}"))
}

const SHORT: &str = "min_duration=0,min_query_count=40,target_qps=400";

/// Returns the error output of a node that does not come up.
fn refusal(args: &[&str]) -> String {
    let output = Command::new(binary("sut-node")).args(args).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(output.stdout.is_empty(), "{output:?}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn what_is_made_of_outputs_is_a_stage_and_leaves_the_node_instead_of_them() {
    let node = SutNode::start("a", &digits(), &["--postprocess", "top-k=3"]);
    let folder = answered(TestRun::digits("Server").on(&node.address).set(SHORT));
    let result = folder.result();
    assert!(stage(&result, "postprocess") > 0 && stage(&result, "inference") > 0);
    assert_eq!(stage(&result, "preprocess"), 0);
    let samples = result["counts"]["issued"].as_u64().unwrap();
    // Three places of eight bytes, instead of ten logits of four.
    assert_eq!(folder.network_report().count("/total/tensor_bytes/egress"), 24 * samples);
    let message = refusal(&["describe", "--backend", &digits(), "--postprocess", "top-k=11"]);
    assert!(message.contains("--postprocess top-k=11") && message.contains("logits f32[N,10]"), "{message}");
    let message = refusal(&["describe", "--backend", "null", "--postprocess", "argmax"]);
    assert!(message.contains("--postprocess is for onnx:MODEL.onnx"), "{message}");
}

#[test]
fn images_are_pre_processed_as_pixels_in_any_codec_or_as_the_files_they_are() {
    let node = SutNode::start("a", "null", &["--preprocess", "resize=20,crop=16,dtype=f32"]);
    let pixels = || TestRun::new("Server").dataset("synthetic:image-u8[40,48,3]x16").on(&node.address).set(SHORT);
    for codec in ["none", "delta-zstd"] {
        let folder = answered(pixels().args(&["--compression", codec]));
        assert!(stage(&folder.result(), "preprocess") > 0, "{codec}");
    }
    let images = tempfile::tempdir().unwrap();
    let mut map = String::new();
    for number in 0..6u16 {
        let (width, height) = (40 + 7 * number, 90 - 5 * number);
        let data: Vec<u8> = (0..u32::from(width) * u32::from(height) * 3).map(|byte| (byte / 7) as u8).collect();
        let mut file = Vec::new();
        Encoder::new(&mut file, 90).encode(&data, width, height, ColorType::Rgb).unwrap();
        fs::write(images.path().join(format!("{number}.jpg")), file).unwrap();
        map += &format!("{number}.jpg {number}\n");
    }
    fs::write(images.path().join("val_map.txt"), map).unwrap();
    let files = |address: &str| {
        let test = TestRun::of("synthetic", "Server").on(address).set(SHORT);
        test.args(&["--dataset", arg(images.path()), "--compression", "original"])
    };
    let result = answered(files(&node.address)).result();
    assert!(stage(&result, "preprocess") > 0 && stage(&result, "decode") > 0);
    assert_eq!(result["network"]["codec"], "original");
    // A node that makes nothing of files takes none.
    let plain = SutNode::start("b", "null", &[]);
    let (finished, _) = files(&plain.address).finish();
    assert!(matches!(finished.code, Some(2 | 4)), "{finished:?}");
    assert!(finished.stderr.contains("original"), "{finished:?}");
    // A sample that is no image fails alone, with its reason.
    let (finished, folder) = TestRun::new("Server").on(&node.address).set(SHORT).finish();
    let output = format!("{}{}", finished.stderr, finished.stdout);
    assert!(finished.code != Some(0) && output.contains("u8["), "{finished:?}");
    drop(folder);
}

#[test]
fn a_pre_processing_that_the_model_does_not_take_is_refused_at_the_start() {
    let preprocess = ["--preprocess", "resize=8,crop=8,dtype=f32"];
    let message = refusal(&[&["serve", "--listen", "127.0.0.1:0", "--backend", &digits()], &preprocess[..]].concat());
    assert!(message.contains("gives f32[3,8,8], the model takes image u8[N,1,8,8]"), "{message}");
}

/// A field of a protocol buffer that has bytes.
fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    [&[number << 3 | 2, u8::try_from(bytes.len()).unwrap()], bytes].concat()
}

/// An ONNX model of this operator from x to y, both f32 of two free dimensions of these names.
fn of_one_node(operator: &[u8], dims: [&[u8]; 2]) -> Vec<u8> {
    let dims = dims.map(|name| field(1, &field(2, name))).concat();
    let tensor = [&[1 << 3, 1][..], &field(2, &dims)].concat();
    let value = |name: &[u8]| [field(1, name), field(2, &field(1, &tensor))].concat();
    let node = [field(1, b"x"), field(2, b"y"), field(4, operator)].concat();
    let graph = [field(1, &node), field(2, b"g"), field(11, &value(b"x")), field(12, &value(b"y"))].concat();
    [&[1 << 3, 8][..], &field(7, &graph), &field(8, &[2 << 3, 17])].concat()
}

/// An array of f32 in numpy's format.
fn npy(rows: usize, columns: usize, values: &[f32]) -> Vec<u8> {
    let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {columns}), }}");
    let header = format!("{header:<117}\n");
    let mut file = [b"\x93NUMPY\x01\x00", &(header.len() as u16).to_le_bytes()[..], header.as_bytes()].concat();
    file.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    file
}

#[test]
fn nan_in_the_outputs_is_counted_and_told() {
    let folder = tempfile::tempdir().unwrap();
    let (model, data) = (folder.path().join("identity.onnx"), folder.path().join("data.npy"));
    fs::write(&model, of_one_node(b"Identity", [b"N", b"L"])).unwrap();
    fs::write(&data, npy(4, 2, &[1., 2., 3., f32::NAN, 5., 6., 7., 8.])).unwrap();
    let node = SutNode::start("a", &format!("onnx:{}", model.display()), &[]);
    let test = TestRun::of("synthetic", "Server").on(&node.address).args(&["--dataset", arg(&data)]);
    let (finished, folder) = test.set(SHORT).finish();
    let counts = &folder.result()["counts"];
    let (nan, completed) = (counts["nan"].as_u64().unwrap(), counts["completed"].as_u64().unwrap());
    // One sample of four, drawn as often as any other, give or take.
    assert!(nan > 0 && nan < completed, "{counts}");
    assert!(finished.stdout.contains(&format!("answers with NaN in their outputs: {nan}")), "{finished:?}");
}

/// Rows become columns: as many samples as they have numbers would get each other's numbers.
#[test]
fn that_samples_run_one_by_one_and_why_is_in_the_result() {
    let folder = tempfile::tempdir().unwrap();
    let (model, data) = (folder.path().join("turned.onnx"), folder.path().join("data.npy"));
    fs::write(&model, of_one_node(b"Transpose", [b"", b""])).unwrap();
    fs::write(&data, npy(4, 2, &[1., 2., 3., 4., 5., 6., 7., 8.])).unwrap();
    let node = SutNode::start("a", &format!("onnx:{}", model.display()), &["--max-batch", "2"]);
    let test = TestRun::of("synthetic", "Server").on(&node.address).args(&["--dataset", arg(&data)]);
    let result = answered(test.set(SHORT)).result();
    let note = result["sut"][0]["settings"]["batches"].as_str().unwrap_or_else(|| panic!("{result}"));
    assert!(note.starts_with("samples run one by one: one sample makes 'y f32[N,?]' of shape "), "{note}");
    node.signal(Signal::SIGTERM);
    let (_, log) = node.wait_with_log();
    assert_eq!(log.matches(note).count(), 1, "{log}");
    let test = TestRun::digits("Server");
    let node = SutNode::start("b", &digits(), &["--max-batch", "2"]);
    assert_eq!(answered(test.on(&node.address).set(SHORT)).result()["sut"][0]["settings"]["batches"], "proved");
}

fn bench(backend: &str, more: &[&str]) -> Output {
    let args = [&["bench", "--backend", backend, "--seconds", "1"], more].concat();
    Command::new(binary("sut-node")).args(args).output().unwrap()
}

#[test]
fn a_bench_is_the_baseline_of_a_run_on_the_same_backend_only() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bench.json");
    let output = bench(&digits(), &["--out", arg(&file)]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && text.contains("Throughput") && text.contains("Latency"), "{text}");
    let measured: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    assert!(measured["throughput"]["samples_per_s"].as_f64().unwrap() > 0.0, "{measured}");
    assert_eq!(measured["throughput"]["failed"], 0, "{measured}");
    let printed: Value = serde_json::from_slice(&bench(&digits(), &["--json"]).stdout).unwrap();
    assert!(printed["throughput"]["samples_per_s"].as_f64().unwrap() > 0.0, "{printed}");

    let node = SutNode::start("a", &digits(), &[]);
    let with = |scenario: &str, sut: &str| {
        TestRun::digits(scenario)
            .on(sut)
            .set("min_duration=200ms,min_query_count=1,Offline.target_qps=2000")
            .args(&["--baseline", arg(&file)])
    };
    let result = answered(with("Offline", &node.address)).result();
    let baseline = &result["baseline"];
    assert_eq!(baseline["samples_per_s"]["baseline"], measured["throughput"]["samples_per_s"], "{baseline}");
    assert!(baseline["throughput_ratio"].as_f64().unwrap() > 0.0 && baseline["added_latency_ns"].is_null());
    let result = answered(with("SingleStream", &node.address)).result();
    let (run, added) = (&result["latency_ns"]["p50"], &result["baseline"]["added_latency_ns"]["p50"]);
    let alone = measured["latency_ns"]["p50"].as_i64().unwrap();
    assert_eq!(run.as_i64().unwrap() - alone, added.as_i64().unwrap(), "{result}");

    let other = SutNode::start("b", "null", &[]);
    let (finished, _) = TestRun::new("Offline").on(&other.address).args(&["--baseline", arg(&file)]).finish();
    assert_eq!(finished.code, Some(2), "{finished:?}");
    assert!(finished.stderr.contains("digits.onnx") && finished.stderr.contains("node b runs null"), "{finished:?}");
}

#[test]
fn a_bench_that_cannot_be_is_told_why() {
    let error_of = |output: Output| {
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("identity.onnx");
    fs::write(&model, of_one_node(b"Identity", [b"N", b"L"])).unwrap();
    let backend = format!("onnx:{}", model.display());
    assert!(error_of(bench(&backend, &[])).contains("--free-size"));
    assert!(bench(&backend, &["--free-size", "3"]).status.success());
    let message = error_of(bench("null", &["--samples", arg(folder.path())]));
    assert!(message.contains("--samples: ") && message.contains("the folder is no dataset"), "{message}");
    let real = repository("loadgen-node/qsl/digits");
    let message = error_of(bench(&backend, &["--samples", arg(&real)]));
    assert!(message.contains("--samples: ") && message.contains("u8[1,8,8], the model takes x f32[N,?]"), "{message}");
    let preprocess = ["--preprocess", "resize=8,crop=8", "--samples", arg(folder.path())];
    assert!(error_of(bench("null", &preprocess)).contains("no .jpg or .jpeg files"));
}

#[test]
fn a_bench_asks_with_samples_of_the_user() {
    let real = repository("loadgen-node/qsl/digits");
    let output = bench(&digits(), &["--samples", arg(&real), "--json"]);
    let printed: Value = serde_json::from_slice(&output.stdout).unwrap();
    let samples = &printed["samples"];
    assert_eq!(
        (&samples["what"], &samples["count"]),
        (&format!("u8[1,8,8] of {}", real.display()).into(), &450.into())
    );
    assert!(printed["throughput"]["samples"].as_u64() > Some(0) && printed["throughput"]["failed"] == 0, "{printed}");
}

/// ONNX Runtime is not beside the programs of the tests.
#[test]
fn each_engine_is_tried_and_named() {
    let described = Command::new(binary("sut-node"))
        .args(["describe", "--try", "--backend", &digits()])
        .env_remove("ORT_DYLIB_PATH")
        .output()
        .unwrap();
    let document: Value = serde_json::from_slice(&described.stdout).unwrap();
    let tried = document["tried"].as_array().unwrap();
    assert_eq!((&tried[0]["engine"], &tried[0]["runs"]), (&"onnxruntime".into(), &false.into()), "{document}");
    assert!(tried[0]["reason"].as_str().unwrap().contains("ORT_DYLIB_PATH"), "{document}");
    assert!(tried[1]["engine"].as_str().unwrap().starts_with("tract ") && tried[1]["runs"] == true, "{document}");
    let message = refusal(&["describe", "--try", "--backend", "null"]);
    assert!(message.contains("--try is for onnx:MODEL.onnx"), "{message}");
}

#[test]
fn a_bench_tunes_and_shows_the_line_to_copy() {
    let flags = ["--tune", "--max-batch", "2", "--postprocess", "argmax"];
    let output = Command::new(binary("sut-node"))
        .args(["bench", "--backend", &digits(), "--seconds", "20ms"])
        .args(flags)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    let rows = text.lines().filter(|line| line.starts_with("      1        1      ")).count();
    assert!(rows >= 2 && text.contains("workers  threads  batch  delay   samples/s"), "{text}");
    let all = text.lines().filter(|line| line.starts_with("    ")).count();
    let plan = |rows: usize| format!("Plan      {rows} rows at most, two phases of 20.0ms each");
    // The two delays are tried where a batch of several samples is the fastest.
    assert!([all, all + 2].iter().any(|rows| text.contains(&plan(*rows))), "{text}");
    let line = format!("sut-node serve --backend {} --postprocess argmax --workers ", digits());
    assert_eq!(text.matches(&line).count(), 2, "{text}");
    let log = String::from_utf8(output.stderr).unwrap();
    assert!(!log.contains("--threads") && !log.contains("I/O threads"), "{log}");
    for flags in [&["--json"][..], &["--workers", "2"], &["--threads", "2"], &["--max-delay", "1ms"]] {
        let message = refusal(&[&["bench", "--tune", "--backend", "null"], flags].concat());
        assert!(message.contains(flags[0]), "{message}");
    }
}

#[test]
fn a_bench_prints_the_rows_of_dli() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let facts = "--dli=task=classification,precision=FP32";
    let args = ["bench", "--backend", &digits(), "--seconds", "100ms", "--max-batch", "4", facts, "--out"];
    let output = Command::new(binary("sut-node")).args(args).arg(file.path()).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(fs::read_to_string(file.path()).unwrap(), text);
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split(';').collect()).collect();
    assert!(rows.len() == 3 && rows.iter().all(|row| row.len() == 22), "{text}");
    for (row, mode) in rows[1..].iter().zip(["Sync", "Async"]) {
        assert_eq!([row[0], row[1], row[2]], ["Success", "classification", "digits.onnx"], "{text}");
        assert_eq!([row[6], row[7], row[8], row[9]], ["4x1x8x8", "FP32", "4", mode], "{text}");
        let figure = |at: usize| row[at].parse::<f64>().unwrap_or_else(|_| panic!("{}: {text}", rows[0][at]));
        // Both are rounded: a time to 10 us, a rate to three places.
        let batch_fps = if mode == "Sync" { 4.0 / figure(13) } else { 4.0 / figure(12) };
        assert!((figure(15) / batch_fps - 1.0).abs() < 0.2 && figure(14) > 0.0, "{text}");
    }
    for flags in [&["--json"][..], &["--tune"], &["--preprocess", "imagenet-torch"]] {
        let error = refusal(&[&["bench", "--backend", "null", "--dli"], flags].concat());
        assert!(error.contains("cannot be used with") && error.contains("--dli"), "{error}");
    }
}
