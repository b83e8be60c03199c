use std::sync::Arc;

use half::{bf16, f16};
use lon_proto::sample::DType;

use super::*;

fn row(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn i32s(values: &[i32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn i64s(values: &[i64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn classes(labels: &[i64]) -> Vec<Option<Truth>> {
    labels.iter().map(|&label| Some(Truth::Class(label))).collect()
}

fn target(metric: Metric, classes: Option<usize>) -> Target {
    Target { metric, at_least: Some(50.0), at_most: None, classes }
}

fn score(target: Target, answers: &[Vec<u8>], truths: &[Option<Truth>]) -> Result<Score, ScoreError> {
    let answers = answers.iter().enumerate().map(|(index, answer)| (index, answer.as_slice()));
    target.score(answers, &Truths::Samples(truths.to_vec()), None)
}

#[test]
fn top1_by_hand() {
    let answers = [row(&[0.0, 2.0, 1.0]), row(&[3.0, 3.0, 1.0]), row(&[-1.0, -2.0, -0.5]), row(&[9.0, f32::NAN, 1.0])];
    for known in [None, Some(3)] {
        let got = score(target(Metric::Top1, known), &answers, &classes(&[1, 0, 2, 2]));
        assert_eq!(got, Ok(Score { value: 75.0, samples: 4, questions: None, others: Vec::new() }));
    }
}

#[test]
fn classes_as_numbers_by_hand() {
    let answers = [i64s(&[7]), i32s(&[8]), i64s(&[9, 1, 2, 3, 4]), i32s(&[5, 9, 6])];
    let truths = classes(&[7, 8, 2, 6]);
    let top = |metric| score(target(metric, Some(1000)), &answers, &truths).unwrap().value;
    assert_eq!((top(Metric::Top1), top(Metric::Top5)), (50.0, 100.0));
}

#[test]
fn a_row_with_a_nan_is_wrong() {
    let answers = [row(&[f32::NAN; 3]), row(&[9.0, f32::NAN, 1.0])];
    for metric in [Metric::Top1, Metric::Top5] {
        assert_eq!(score(target(metric, Some(3)), &answers, &classes(&[0, 0])).unwrap().value, 0.0);
    }
}

#[test]
fn top5_by_hand() {
    // In order: 6, 4, 2, 0 (before 5, of the same value), 5; then 3, 1.
    let logits = row(&[1.0, -9.0, 2.0, 0.5, 3.0, 1.0, 4.0]);
    let top5 = |label| score(target(Metric::Top5, Some(7)), std::slice::from_ref(&logits), &classes(&[label])).unwrap();
    let right: Vec<i64> = (0..7).filter(|label| top5(*label).value == 100.0).collect();
    assert_eq!(right, [0, 2, 4, 5, 6]);
}

#[test]
fn texts_by_hand() {
    let texts = |texts: &[&str]| Some(Truth::Texts(texts.iter().map(|text| (*text).to_owned()).collect()));
    let truths = [texts(&["Santa Clara", "California"]), texts(&["gold and silver"])];
    let answers = [b"the santa clara".to_vec(), b"gold gold".to_vec()];
    assert_eq!(score(target(Metric::ExactMatch, None), &answers, &truths).unwrap().value, 50.0);
    assert!((score(target(Metric::F1, None), &answers, &truths).unwrap().value - 70.0).abs() < 1e-9);
    let logits = [b"gold".to_vec(), vec![0xff, 0xfe]];
    assert_eq!(score(target(Metric::F1, None), &logits, &truths), Err(ScoreError::Text(1)));
    let told = ScoreError::Label { index: 0, metric: "top1" };
    assert_eq!(score(target(Metric::Top1, None), &answers, &truths), Err(told));
}

#[test]
fn what_cannot_be_scored_is_said() {
    let answer = row(&[0.0, 1.0]);
    let one = |index, bytes: &[u8]| {
        target(Metric::Top1, Some(2)).score([(index, bytes)].into_iter(), &Truths::Samples(classes(&[1, 1])), None)
    };
    assert_eq!(one(2, &answer), Err(ScoreError::NoSample { index: 2, count: 2 }));
    assert!(one(0, &answer[..7]).unwrap_err().to_string().contains("7 bytes: not a row of 2 f32"));
    assert_eq!(one(0, &answer), Err(ScoreError::Missing { index: 1, answered: 1, count: 2 }));
    let missing = score(target(Metric::Top1, None), &[answer.clone(), answer], &[Some(Truth::Class(1)), None]);
    assert_eq!(missing.unwrap_err().to_string(), "sample 1 has no label for top1");
}

#[test]
fn five_digits_decide() {
    let target = Target { metric: Metric::Top1, at_least: Some(75.6954), at_most: None, classes: None };
    for (value, reached) in [(75.6954, true), (75.695, true), (75.6946, true), (75.6945, false), (75.694, false)] {
        assert_eq!(
            target.is_reached_by(&Score { value, samples: 1, questions: None, others: Vec::new() }),
            reached,
            "{value}"
        );
    }
}

#[test]
fn bounds_on_both_sides() {
    let within = |at_least, at_most| {
        let target = Target { metric: Metric::Wer, at_least, at_most, classes: None };
        let reaches = |value| target.is_reached_by(&Score { value, samples: 1, questions: None, others: Vec::new() });
        ([4.0, 5.0, 5.00004, 6.0].map(reaches), target.wanted())
    };
    assert_eq!(within(None, Some(5.0)), ([true, true, true, false], "at most 5 %".to_owned()));
    assert_eq!(within(Some(5.0), Some(6.0)), ([false, true, true, true], "5 to 6 %".to_owned()));
    assert_eq!(within(Some(6.0), None), ([false, false, false, true], "6 %".to_owned()));
}

#[test]
fn token_ids_and_words_by_hand() {
    let file = br#"{"model": {"vocab": {"one": 0, "two": 1, "three": 2}}}"#;
    let truths = ["one two", "three"].map(|text| Some(Truth::Texts(vec![text.to_owned()])));
    let truths = Truths::Decoded(truths.to_vec(), Arc::new(Reader::from(Tokenizer::from_json(file).unwrap())));
    let of = |metric, rows: Option<&str>, answers: [Vec<u8>; 2]| {
        let answers = answers.iter().enumerate().map(|(index, answer)| (index, answer.as_slice()));
        target(metric, None).score(answers, &truths, rows.and_then(Rows::from_text)).map(|score| score.value)
    };
    let close =
        |got: Result<f64, ScoreError>, wanted: f64| assert!((got.clone().unwrap() - wanted).abs() < 1e-9, "{got:?}");
    // Of three words one is missing.
    close(of(Metric::Wer, None, [i64s(&[0]), i64s(&[2])]), 100.0 / 3.0);
    close(of(Metric::Rouge1, Some("y i32[N,?]"), [i32s(&[0]), i32s(&[2])]), 100.0 * (2.0 / 3.0 + 1.0) / 2.0);
    close(of(Metric::Wer, Some("y u8[N,?]"), [b"one two".to_vec(), b"three".to_vec()]), 0.0);
    close(of(Metric::ExactMatch, None, [vec![], i64s(&[2])]), 50.0);
    let odd = of(Metric::Wer, None, [vec![0; 7], vec![]]).unwrap_err();
    assert_eq!(odd.to_string(), "the answer to sample 0 has 7 bytes: no row of i64 token ids");
}

#[test]
fn items_of_samples_by_hand() {
    let truths = [Some(Truth::Classes(vec![0, 1])), Some(Truth::Class(1))];
    let of = |answers: [Vec<u8>; 2]| score(target(Metric::Auc, None), &answers, &truths).map(|score| score.value);
    assert_eq!(of([row(&[0.5, 0.9]), row(&[0.1])]), Ok(50.0));
    // With the labels behind the scores, as the reference implementation logs them.
    assert_eq!(of([row(&[0.5, 0.0, 0.9, 1.0]), row(&[0.1, 1.0])]), Ok(50.0));
    let items = |bytes| Err(ScoreError::Items { index: 0, bytes, items: 2, dtype: DType::F32 });
    assert_eq!(of([row(&[0.5]), row(&[0.1])]), items(4));
    assert_eq!(of([row(&[0.5, f32::NAN]), row(&[0.1])]), items(8));
    let same = score(target(Metric::Auc, None), &[row(&[0.1])], &truths[1..]);
    assert_eq!(same, Err(ScoreError::OneClass));
}

#[test]
fn masks_are_read_when_they_are_needed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("0.bin");
    let of = |answer: Vec<u8>| score(target(Metric::Dice, None), &[answer], &[Some(Truth::Mask(path.clone()))]);
    assert!(matches!(of(vec![0; 4]), Err(ScoreError::Mask { index: 0, .. })));
    std::fs::write(&path, [0, 1, 2, 2]).unwrap();
    assert_eq!(of(vec![0, 1, 2, 2]).unwrap().value, 1.0);
    let odd = of(vec![0, 1, 2, 3]).unwrap_err().to_string();
    assert_eq!(odd, "the answer to sample 0 has 4 bytes: no u8 from 0 to 2 for each of 4 voxels");
}

/// Numbers as the bytes of a type.
fn cast(dtype: DType, values: &[i8]) -> Vec<u8> {
    let one = |value: &i8| match dtype {
        DType::I8 | DType::U8 | DType::Bool => value.to_le_bytes().to_vec(),
        DType::I16 | DType::U16 => i16::from(*value).to_le_bytes().to_vec(),
        DType::I32 | DType::U32 => i32::from(*value).to_le_bytes().to_vec(),
        DType::I64 | DType::U64 => i64::from(*value).to_le_bytes().to_vec(),
        DType::F16 => f16::from(*value).to_le_bytes().to_vec(),
        DType::Bf16 => bf16::from(*value).to_le_bytes().to_vec(),
        DType::F32 => f32::from(*value).to_le_bytes().to_vec(),
        DType::F64 => f64::from(*value).to_le_bytes().to_vec(),
        DType::F8E4M3 | DType::F8E5M2 | DType::U4 | DType::I4 => Vec::new(),
    };
    values.iter().flat_map(one).collect()
}

/// The score of answers of which the SUT says this.
fn scored(told: &str, answers: &[Vec<u8>], labels: &[i64]) -> Result<f64, String> {
    let answers = answers.iter().enumerate().map(|(index, answer)| (index, answer.as_slice()));
    let (rows, truths) = (Rows::from_text(told), Truths::Samples(classes(labels)));
    let score = target(Metric::Top1, Some(4)).score(answers, &truths, rows);
    score.map(|score| score.value).map_err(|error| error.to_string())
}

#[test]
fn logits_of_every_type_are_scored() {
    for dtype in DType::ALL.iter().copied().filter(|dtype| dtype.bits() >= 8 && !dtype.name().starts_with("f8")) {
        let lowest = if dtype.name().starts_with('i') || dtype.name().contains('f') { -7 } else { 0 };
        // Of the last no number is the largest, so that the first of them counts.
        let rows = [[0, 3, 1, 2], [9, 3, 1, 2], [lowest, 0, 1, lowest], [1, 1, 0, 0]];
        let rows = if dtype == DType::Bool { [[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 1, 0], [1, 1, 0, 0]] } else { rows };
        let answers = rows.map(|row| cast(dtype, &row));
        // Of u8 a free number is a text.
        let free = if dtype == DType::U8 { "4" } else { "?" };
        for told in [format!("y {dtype}[N,4]"), format!("y {dtype}[N,{free}]"), format!("y {dtype}[1,4]")] {
            assert_eq!(scored(&told, &answers, &[1, 0, 2, 0]), Ok(100.0), "{told}");
            assert_eq!(scored(&told, &answers, &[1, 0, 2, 3]), Ok(75.0), "{told}");
        }
    }
}

#[test]
fn classes_of_every_whole_type_are_scored() {
    let is_whole = |dtype: &DType| dtype.bits() >= 8 && !dtype.name().contains('f') && *dtype != DType::Bool;
    for dtype in DType::ALL.iter().copied().filter(is_whole) {
        for (told, more) in [("[N]", &[][..]), ("[N,1]", &[]), ("[N,3]", &[0, 1])] {
            let answers = [3, 2].map(|class| cast(dtype, &[&[class][..], more].concat()));
            assert_eq!(scored(&format!("y {dtype}{told}"), &answers, &[3, 1]), Ok(50.0), "{dtype}{told}");
        }
    }
}

/// All classes in order look like scores, and would be taken for them.
#[test]
fn whole_numbers_that_may_be_scores_and_classes_are_not_scored() {
    let orders = |rows: &[&[i8]]| rows.iter().map(|row| cast(DType::I64, row)).collect::<Vec<_>>();
    let all = scored("y i64[N,4]", &orders(&[&[3, 1, 0, 2], &[0, 1, 2, 3]]), &[3, 0]);
    assert!(all.unwrap_err().contains("every answer has each class once"));
    assert_eq!(scored("y i64[N,4]", &orders(&[&[3, 1, 0, 2], &[0, 1, 2, 4]]), &[0, 3]), Ok(100.0));
    assert_eq!(scored("y i64[N,3]", &orders(&[&[3, 1, 0]]), &[3]), Ok(100.0));
}

#[test]
fn answers_that_cannot_be_scored_are_refused_before_a_run() {
    let samples = Truths::Samples(classes(&[3, 1]));
    let refused = |target: Target, truths: &Truths, told: &str, part: &str| {
        let why = target.fits(truths, Rows::from_text(told).unwrap()).unwrap_err();
        assert!(why.contains(part), "{told}: {why}");
    };
    let top1 = |classes| target(Metric::Top1, classes);
    for dtype in ["f8e4m3", "f8e5m2", "u4", "i4"] {
        let part = format!("answers of {dtype} are not scored, those of f32 are: a Cast");
        refused(top1(Some(4)), &samples, &format!("y {dtype}[N,4]"), &part);
    }
    refused(top1(Some(4)), &samples, "y f16[N,5]", "answers of 5 f16 are no score for each of 4 classes");
    refused(top1(Some(4)), &samples, "y i64[N,5]", "answers of 5 i64 are no score for each of 4 classes");
    refused(top1(None), &samples, "y i64[N,5]", "accuracy.classes");
    refused(top1(None), &samples, "y i8[N,?]", "accuracy.classes");
    refused(top1(Some(4)), &samples, "text u8[N,?]", "answers with texts (u8), and labels are classes");
    refused(top1(None), &samples, "y f64[N,2]", "the label of sample 0 is 3, the model has the classes 0 to 1");
    refused(top1(None), &samples, "y f32[N,?], z f32[N,?]", "where the first ends");
    // More labels than elements: they can only be classes.
    assert_eq!(top1(None).fits(&samples, Rows::from_text("y i64[N,3]").unwrap()), Ok(()));
    let mask = Truths::Samples(vec![Some(Truth::Mask("x".into()))]);
    refused(target(Metric::Dice, None), &mask, "y f16[N,8]", "whole numbers, not 8 f16: an argmax");
    refused(target(Metric::Auc, None), &samples, "y f64[N,1]", "as f32, and are 1 f64: a Cast");
    let texts = Truths::Samples(vec![Some(Truth::Texts(vec!["a".to_owned()]))]);
    refused(target(Metric::F1, None), &texts, "y f32[N,8]", "not by 8 f32");
    refused(target(Metric::F1, None), &texts, "y u32[N,?]", "no tokenizer.json");
    refused(target(Metric::TokensPerSample, None), &texts, "y u8[N,?]", "how many tokens");
}
