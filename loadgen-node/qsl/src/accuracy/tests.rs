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
    Target { metric, value: 50.0, classes }
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
        assert_eq!(got, Ok(Score { value: 75.0, samples: 4, questions: None }));
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
    let target = Target { metric: Metric::Top1, value: 75.6954, classes: None };
    for (value, reached) in [(75.6954, true), (75.695, true), (75.6946, true), (75.6945, false), (75.694, false)] {
        assert_eq!(target.is_reached_by(Score { value, samples: 1, questions: None }), reached, "{value}");
    }
}
