//! SQuAD as it is published, read by a model behind a node, to a score of its start and end logits.

use std::fs;
use std::path::{Path, PathBuf};

use lon_tests::process::{LoadGen, SutNode};
use lon_tests::run_folder::RunFolder;
use lon_tests::test_run::TestRun;
use serde_json::{Value, json};

/// A field of a protocol buffer that has bytes.
fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    let len = bytes.len();
    let prefix = if len < 128 { vec![len as u8] } else { vec![(len & 127 | 128) as u8, (len >> 7) as u8] };
    [&[number << 3 | 2], prefix.as_slice(), bytes].concat()
}

fn number(field: u8, value: u8) -> [u8; 2] {
    [field << 3, value]
}

/// An ONNX model of three inputs and two outputs of 384 places. A place is as likely the start and the end as its id is
/// large, in the passage; nothing in the question is likely.
fn reader() -> Vec<u8> {
    let (f32, i64, float) = (1, 7, [field(1, b"to"), number(3, 1).to_vec(), vec![0xa0, 1, 2]].concat());
    let value = |name: &[u8], dtype: u8| {
        let dims = [field(1, &field(2, b"N")), field(1, &[1 << 3, 0x80, 3])].concat();
        let tensor = [&number(1, dtype)[..], &field(2, &dims)].concat();
        [field(1, name), field(2, &field(1, &tensor))].concat()
    };
    let node = |inputs: &[&[u8]], output: &[u8], kind: &[u8], attribute: Option<&[u8]>| {
        let inputs = inputs.iter().flat_map(|input| field(1, input)).collect::<Vec<u8>>();
        let attribute = attribute.map(|attribute| field(5, attribute)).unwrap_or_default();
        field(1, &[inputs, field(2, output), field(4, kind), attribute].concat())
    };
    let graph = [
        node(&[b"input_ids", b"segment_ids"], b"told", b"Mul", None),
        node(&[b"told"], b"start_logits", b"Cast", Some(&float)),
        node(&[b"told"], b"end_logits", b"Cast", Some(&float)),
        field(2, b"g"),
        field(11, &value(b"input_ids", i64)),
        field(11, &value(b"input_mask", i64)),
        field(11, &value(b"segment_ids", i64)),
        field(12, &value(b"start_logits", f32)),
        field(12, &value(b"end_logits", f32)),
    ];
    [&number(1, 8)[..], &field(7, &graph.concat()), &field(8, &number(2, 17))].concat()
}

/// Two questions, the second about a passage of two windows; it has the largest id in the second of them.
fn folder(folder: &Path, second_answer: &str) -> PathBuf {
    let answers = |text: &str| json!([{"answer_start": 0, "text": text}]);
    let question = |id: &str, answer: &str| json!({"id": id, "question": "Alpha?", "answers": answers(answer)});
    let long = format!("{}(Omega!) {}", "alpha beta ".repeat(195), "beta ".repeat(40));
    let paragraph = |context: &str, question: Value| json!({"context": context, "qas": [question]});
    let paragraphs = [
        paragraph("Alpha, beta and Gamma.", question("1", "the gamma")),
        paragraph(&long, question("2", second_answer)),
    ];
    let squad = json!({"version": "1.1", "data": [{"title": "t", "paragraphs": paragraphs}]});
    fs::write(folder.join("dev-v1.1.json"), squad.to_string()).unwrap();
    let pieces = "[PAD] [UNK] [CLS] [SEP] [MASK] ! ? . , ( ) and alpha beta gamma omega";
    fs::write(folder.join("vocab.txt"), pieces.replace(' ', "\n")).unwrap();
    folder.to_owned()
}

#[test]
fn start_and_end_logits_are_scored_by_question() {
    let here = tempfile::tempdir().unwrap();
    let model = here.path().join("reader.onnx");
    fs::write(&model, reader()).unwrap();
    let node = SutNode::start("a", &format!("onnx:{}", model.display()), &[]);
    for (second_answer, score, code) in [("omega", 100.0, 0), ("beta", 50.0, 3)] {
        let path = folder(here.path(), second_answer);
        let dataset = ["--dataset", path.to_str().unwrap()];
        let test = TestRun::of("bert", "Offline").on(&node.address).set("min_duration=0,min_query_count=1");
        let (finished, folder) = test.args(&[&["--mode", "AccuracyOnly"], &dataset[..]].concat()).finish();
        assert_eq!(finished.code, Some(code), "{finished:?}");
        let accuracy = folder.result()["accuracy"].clone();
        assert_eq!((&accuracy["value"], &accuracy["samples"]), (&json!(score), &json!(3)), "{accuracy}");

        let again = LoadGen::run(&[&["accuracy", folder.arg()], &dataset[..]].concat());
        assert_eq!(again.code, Some(code), "{again:?}");
        let line = format!("f1 {score} % on 3 samples of 2 questions");
        assert!(again.stdout.starts_with(&line), "{again:?}");
        let again = LoadGen::run(&["accuracy", folder.arg(), "--json"]);
        let scored: Value = serde_json::from_str(&again.stdout).unwrap();
        assert_eq!((&scored["questions"], &scored["passed"]), (&json!(2), &json!(code == 0)), "{scored}");
        assert_eq!(scored["value"], score);
    }
}

/// The compression table of the Network division allows BERT's ids alone: the SUT makes the rest, while it is timed.
#[test]
fn ids_alone_are_enough_for_a_node_that_makes_the_rest() {
    let here = tempfile::tempdir().unwrap();
    let (model, path) = (here.path().join("reader.onnx"), folder(here.path(), "omega"));
    fs::write(&model, reader()).unwrap();
    let backend = format!("onnx:{}", model.display());
    // [SEP] is the fourth piece of the vocabulary.
    let node = SutNode::start("a", &backend, &["--preprocess", "token-ids=3"]);
    let run = |node: &SutNode, more: &[&str]| {
        let test = TestRun::of("bert", "Offline").on(&node.address).set("min_duration=0,min_query_count=1");
        let test = test.args(&["--mode", "AccuracyOnly", "--dataset", path.to_str().unwrap()]);
        test.args(more).finish()
    };
    let (finished, folder) = run(&node, &["--ids-alone"]);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let result = folder.result();
    assert_eq!(result["accuracy"]["value"], 100.0, "{result}");
    let file = |folder: &RunFolder| fs::read_to_string(folder.path.join("network_report.json")).unwrap();
    let report = |folder: &RunFolder| serde_json::from_str::<Value>(&file(folder)).unwrap();
    let split = &report(&folder)["latency_split_ns"]["preprocess"];
    assert!(split["p50"].as_u64().is_some_and(|ns| ns > 0), "what is made is timed: {split}");
    let tensor_bytes = |folder: &RunFolder| report(folder)["total"]["tensor_bytes"]["ingress"].as_u64().unwrap();
    let alone = tensor_bytes(&folder);

    let whole = SutNode::start("a", &backend, &[]);
    let (finished, folder) = run(&whole, &[]);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    assert!(tensor_bytes(&folder) > 2 * alone, "{} and {alone}", tensor_bytes(&folder));

    // Neither takes what the other does.
    for (node, flags) in [(&whole, &["--ids-alone"][..]), (&node, &[])] {
        let (finished, _folder) = run(node, flags);
        assert!(finished.code == Some(2) && finished.stderr.contains("input_ids i64"), "{finished:?}");
    }
}

/// Its answers would be wrong without a word, or could not be scored.
#[test]
fn a_node_that_cannot_be_meant_is_refused_before_the_run() {
    let here = tempfile::tempdir().unwrap();
    let (model, path) = (here.path().join("reader.onnx"), folder(here.path(), "omega"));
    fs::write(&model, reader()).unwrap();
    let node = SutNode::start("a", &format!("onnx:{}", model.display()), &["--postprocess", "argmax"]);
    let test = TestRun::of("bert", "Offline").on(&node.address);
    let (finished, _folder) = test.args(&["--mode", "AccuracyOnly", "--dataset", path.to_str().unwrap()]).finish();
    assert_eq!(finished.code, Some(2), "{finished:?}");
    assert!(finished.stderr.contains("start and end logits, not by 1 i64"), "{finished:?}");
}

/// Both ends have names for the tensors, so that nobody has to put them in order.
#[test]
fn a_node_with_its_inputs_in_another_order_gets_them_by_name() {
    let here = tempfile::tempdir().unwrap();
    let (model, path) = (here.path().join("reader.onnx"), folder(here.path(), "omega"));
    fs::write(&model, reader()).unwrap();
    let flags = ["--inputs", "segment_ids,input_mask,input_ids"];
    let node = SutNode::start("a", &format!("onnx:{}", model.display()), &flags);
    let test = TestRun::of("bert", "Offline").on(&node.address).set("min_duration=0,min_query_count=1");
    let (finished, folder) = test.args(&["--mode", "AccuracyOnly", "--dataset", path.to_str().unwrap()]).finish();
    assert_eq!(finished.code, Some(0), "{finished:?}");
    assert_eq!(folder.result()["accuracy"]["value"], 100.0);
}

#[test]
fn what_is_wrong_with_the_folder_is_found_before_any_node_is_asked() {
    let here = tempfile::tempdir().unwrap();
    let path = folder(here.path(), "x");
    let run = |benchmark: &str| {
        let base = ["run", "--sut", "127.0.0.1:1", "--scenario", "Server", "--benchmark", benchmark];
        let finished = LoadGen::run(&[&base, &["--dataset", path.to_str().unwrap()][..]].concat());
        assert_eq!(finished.code, Some(2), "{finished:?}");
        finished.stderr
    };
    assert!(run("resnet50").contains("no input for types"));
    let file = ["--benchmark", "bert", "--dataset", path.join("dev-v1.1.json").to_str().unwrap()].map(str::to_owned);
    let base = ["run", "--sut", "127.0.0.1:1", "--scenario", "Server"];
    let message = LoadGen::run(&[&base, &file.each_ref().map(String::as_str)[..]].concat()).stderr;
    assert!(message.contains("give the folder"), "{message}");
    fs::write(path.join("vocab.txt"), "a\nb\n").unwrap();
    let message = run("bert");
    assert!(message.contains("vocab.txt") && message.contains("[UNK]"), "{message}");
    fs::remove_file(path.join("vocab.txt")).unwrap();
    assert!(run("bert").contains("vocab.txt: it is missing"));
}
