use std::sync::Arc;

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
    assert_eq!(of([row(&[0.5]), row(&[0.1])]), Err(ScoreError::Items { index: 0, bytes: 4, items: 2 }));
    assert_eq!(of([row(&[0.5, f32::NAN]), row(&[0.1])]), Err(ScoreError::Items { index: 0, bytes: 8, items: 2 }));
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
