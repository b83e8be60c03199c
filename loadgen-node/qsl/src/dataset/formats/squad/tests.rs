use std::fs;
use std::path::PathBuf;

use lon_proto::sample;
use tempfile::TempDir;

use super::*;
use crate::accuracy::{Metric, Rows, Target};
use crate::benchmark::Benchmark;
use crate::dataset::Dataset;

const VOCABULARY_OF_THREE: &str = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\nwhat\n";

/// Two questions about one passage, and one about another.
const DEV: &str = r#"{"version": "1.1", "data": [
 {"title": "t", "paragraphs": [{"context": "A b. A", "qas": [
   {"id": "1", "question": "What?", "answers": [{"answer_start": 0, "text": "A b"}, {"answer_start": 5, "text": "A"}]},
   {"id": "2", "question": "a", "answers": [{"answer_start": 0, "text": "A"}]}]}]},
 {"title": "u", "paragraphs": [{"context": "B", "qas": [{"id": "3", "question": "", "answers": [{"text": "B"}]}]}]}
]}"#;

fn folder(dev: &str, vocabulary: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_owned();
    fs::write(path.join(QUESTIONS), dev).unwrap();
    fs::write(path.join(VOCABULARY), vocabulary).unwrap();
    (folder, path)
}

fn opened(benchmark: &str, path: &Path) -> Result<Dataset, String> {
    Benchmark::find(benchmark).unwrap().open(path.to_str()).map_err(|error| error.to_string())
}

fn rows(dataset: &Dataset, index: usize) -> Vec<Vec<i64>> {
    let tensors = sample::decode(dataset.raw(index).unwrap()).unwrap();
    let row = |bytes: &[u8]| bytes.as_chunks().0.iter().map(|eight| i64::from_le_bytes(*eight)).collect();
    tensors.iter().map(|tensor| row(tensor.data())).collect()
}

#[test]
fn a_question_becomes_ids_mask_and_segments() {
    let (_guard, path) = folder(DEV, VOCABULARY_OF_THREE);
    for benchmark in ["bert", "synthetic"] {
        let dataset = opened(benchmark, &path).unwrap();
        assert_eq!((dataset.total_count(), dataset.name()), (3, path.to_str().unwrap()));
        let starts: Vec<Vec<i64>> = rows(&dataset, 0).into_iter().map(|row| row[..10].to_vec()).collect();
        assert_eq!(
            starts,
            [[2, 7, 1, 3, 5, 6, 1, 5, 3, 0], [1, 1, 1, 1, 1, 1, 1, 1, 1, 0], [0, 0, 0, 0, 1, 1, 1, 1, 1, 0]]
        );
        assert_eq!(rows(&dataset, 2)[0][..5], [2, 3, 6, 3, 0]);
        assert!(rows(&dataset, 1).iter().all(|row| row.len() == 384 && row[383] == 0));
        assert!(dataset.fits_metric(Metric::F1).is_ok() && dataset.fits_metric(Metric::Top1).is_err());
    }
}

#[test]
fn files_are_what_their_sums_say() {
    let (_guard, path) = folder(DEV, VOCABULARY_OF_THREE);
    let sum = |name: &str| crate::files::sums::sum(&path.join(name)).unwrap().0;
    let list = format!("{}  {QUESTIONS}\n{}  {VOCABULARY}\n", sum(QUESTIONS), sum(VOCABULARY));
    fs::write(path.join("SHA256SUMS"), &list).unwrap();
    assert!(opened("bert", &path).is_ok());
    fs::write(path.join(VOCABULARY), format!("{VOCABULARY_OF_THREE}c\n")).unwrap();
    assert!(opened("bert", &path).unwrap_err().contains("vocab.txt is truncated or altered"));
    fs::write(path.join("SHA256SUMS"), list.lines().last().unwrap()).unwrap();
    fs::write(path.join(VOCABULARY), VOCABULARY_OF_THREE).unwrap();
    assert!(opened("bert", &path).unwrap_err().contains("no sum for dev-v1.1.json"));
}

#[test]
fn what_is_wrong_with_a_file_is_said() {
    let v2 = DEV.replace(r#"[{"answer_start": 0, "text": "A"}]"#, "[]");
    let cut = &DEV[..200];
    for (dev, vocabulary, parts) in [
        (cut, VOCABULARY_OF_THREE, ["dev-v1.1.json", "EOF", "line 3 column"]),
        ("{\"data\": 3}", VOCABULARY_OF_THREE, ["dev-v1.1.json", "not SQuAD", "line 1 column 10"]),
        ("{\"data\": []}", VOCABULARY_OF_THREE, ["dev-v1.1.json", "no question", ""]),
        (&DEV.replace("\"question\"", "\"asked\""), VOCABULARY_OF_THREE, ["dev-v1.1.json", "`question`", "line 3"]),
        (&DEV.replace("\"2\"", "\"1\""), VOCABULARY_OF_THREE, ["dev-v1.1.json", "question 1", "twice"]),
        (&v2, VOCABULARY_OF_THREE, ["dev-v1.1.json", "question 2 has no answers", "v2.0"]),
        (DEV, "a\nb\n", ["vocab.txt", "[UNK]", "piece a line"]),
        (DEV, "", ["vocab.txt", "[UNK]", ""]),
    ] {
        let (_guard, path) = folder(dev, vocabulary);
        let message = opened("bert", &path).unwrap_err();
        assert!(parts.iter().all(|part| message.contains(part)), "{message}");
    }
    let (_guard, path) = folder(DEV, VOCABULARY_OF_THREE);
    fs::write(path.join(QUESTIONS), b"{\"data\xff").unwrap();
    assert!(opened("bert", &path).unwrap_err().contains("dev-v1.1.json: not UTF-8 at byte 6"));
    fs::write(path.join(QUESTIONS), "\u{feff}{}").unwrap();
    assert!(opened("bert", &path).unwrap_err().contains("dev-v1.1.json: it starts with a byte order mark"));
    fs::remove_file(path.join(VOCABULARY)).unwrap();
    assert!(opened("bert", &path).unwrap_err().contains("vocab.txt: it is missing"));
}

#[test]
fn benchmarks_that_read_nothing_do_not_take_it() {
    let (_guard, path) = folder(DEV, VOCABULARY_OF_THREE);
    for benchmark in ["llama2-70b", "resnet50", "3d-unet", "qwen3-vl-235b-a22b"] {
        let message = opened(benchmark, &path).unwrap_err();
        assert!(message.contains(benchmark) && message.contains("no input for types (segment_ids"), "{message}");
    }
    let message = Benchmark::find("bert").unwrap().open(None).unwrap_err().to_string();
    assert!(message.contains("a folder with dev-v1.1.json and its vocabulary (SQuAD), JSON lines"), "{message}");
}

/// Compares features and scores with the files that `tests/models/squad.py` wrote. That script uses transformers'
/// tokenizer and an implementation of its own.
#[test]
#[ignore = ".ci/run models"]
fn features_and_scores_are_those_of_another_implementation() {
    let folder = PathBuf::from(std::env::var("LON_TEST_MODELS").unwrap()).join("squad");
    let dataset = opened("bert", &folder).unwrap();
    let features = opened("bert", &folder.join("features.npz")).unwrap();
    let expected = fs::read_to_string(folder.join("expected.json")).unwrap();
    let expected: serde_json::Value = serde_json::from_str(&expected).unwrap();
    assert_eq!(dataset.total_count() as u64, expected["windows"]);
    assert_eq!(dataset.total_count(), features.total_count());
    for index in 0..dataset.total_count() {
        assert!(dataset.raw(index).unwrap() == features.raw(index).unwrap(), "sample {index} differs");
    }
    for name in ["logits", "bert"] {
        let logits = opened("synthetic", &folder.join(format!("{name}.npy"))).unwrap();
        let answer = |index| sample::decode(logits.raw(index).unwrap()).unwrap()[0].data().to_vec();
        let answers: Vec<Vec<u8>> = (0..logits.total_count()).map(answer).collect();
        for (metric, key) in [(Metric::F1, "f1"), (Metric::ExactMatch, "exact_match")] {
            let rows = Rows::from_text("start_logits f32[N,?], end_logits f32[N,?]");
            let answers = answers.iter().enumerate().map(|(index, answer)| (index, answer.as_slice()));
            let target = Target { at_least: Some(0.0), ..Target::from(metric) };
            let score = target.score(answers, dataset.truths().unwrap(), rows).unwrap();
            let reference = expected[name][key].as_f64().unwrap();
            assert!((score.value - reference).abs() < 1e-9, "{name} {key}: {} is not {reference}", score.value);
            assert_eq!(score.questions.map(|questions| questions as u64), expected["questions"].as_u64());
        }
    }
}
