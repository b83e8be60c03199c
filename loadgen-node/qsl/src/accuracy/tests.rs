use std::sync::Arc;

use half::{bf16, f16};
use lon_proto::sample::DType;

use super::*;
use crate::benchmark::Benchmark;

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
    Target { at_least: Some(50.0), classes, ..Target::from(metric) }
}

fn score(target: Target, answers: &[Vec<u8>], truths: &[Option<Truth>]) -> Result<Score, ScoreError> {
    let answers = answers.iter().enumerate().map(|(index, answer)| (index, answer.as_slice()));
    target.score(answers, &Truths::Samples(truths.to_vec()), None)
}

#[test]
fn top1_by_hand() {
    let answers = [row(&[0.0, 2.0, 1.0]), row(&[3.0, 3.0, 1.0]), row(&[-1.0, -2.0, -0.5]), row(&[9.0, f32::NAN, 1.0])];
    for class_count in [None, Some(3)] {
        let outcome = score(target(Metric::Top1, class_count), &answers, &classes(&[1, 0, 2, 2]));
        assert_eq!(outcome, Ok(Score { value: 75.0, samples: 4, questions: None, others: Vec::new() }));
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
    let error = ScoreError::Label { index: 0, metric: "top1" };
    assert_eq!(score(target(Metric::Top1, None), &answers, &truths), Err(error));
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
    let target = Target { at_least: Some(75.6954), ..Target::from(Metric::Top1) };
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
        let target = Target { at_least, at_most, ..Target::from(Metric::Wer) };
        let reaches = |value| target.is_reached_by(&Score { value, samples: 1, questions: None, others: Vec::new() });
        ([4.0, 5.0, 5.00004, 6.0].map(reaches), target.bounds())
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
    let close = |score: Result<f64, ScoreError>, expected: f64| {
        assert!((score.clone().unwrap() - expected).abs() < 1e-9, "{score:?}");
    };
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
fn scored(outputs: &str, answers: &[Vec<u8>], labels: &[i64]) -> Result<f64, String> {
    let answers = answers.iter().enumerate().map(|(index, answer)| (index, answer.as_slice()));
    let (rows, truths) = (Rows::from_text(outputs), Truths::Samples(classes(labels)));
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
        for outputs in [format!("y {dtype}[N,4]"), format!("y {dtype}[N,{free}]"), format!("y {dtype}[1,4]")] {
            assert_eq!(scored(&outputs, &answers, &[1, 0, 2, 0]), Ok(100.0), "{outputs}");
            assert_eq!(scored(&outputs, &answers, &[1, 0, 2, 3]), Ok(75.0), "{outputs}");
        }
    }
}

#[test]
fn classes_of_every_whole_type_are_scored() {
    let is_whole = |dtype: &DType| dtype.bits() >= 8 && !dtype.name().contains('f') && *dtype != DType::Bool;
    for dtype in DType::ALL.iter().copied().filter(is_whole) {
        for (shape, more) in [("[N]", &[][..]), ("[N,1]", &[]), ("[N,3]", &[0, 1])] {
            let answers = [3, 2].map(|class| cast(dtype, &[&[class][..], more].concat()));
            assert_eq!(scored(&format!("y {dtype}{shape}"), &answers, &[3, 1]), Ok(50.0), "{dtype}{shape}");
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
    let refused = |target: Target, truths: &Truths, outputs: &str, part: &str| {
        let why = target.fits(truths, Rows::from_text(outputs).unwrap()).unwrap_err();
        assert!(why.contains(part), "{outputs}: {why}");
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
    refused(
        top1(None),
        &samples,
        "y f64[N,2]",
        "the label of sample 0 is 3, and the model has 2 classes, numbered 0 to 1",
    );
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

/// Right texts of parts of a dataset.
fn parted(parts: &[(&str, &[&str])]) -> Vec<Option<Truth>> {
    let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    let truth = |(part, right): &(&str, &[&str])| Some(Truth::Part { part: (*part).to_owned(), texts: texts(right) });
    parts.iter().map(truth).collect()
}

/// Source: `evaluate-accuracy.py` of Mixtral 8x7B, which tells the parts apart by the column `dataset`.
#[test]
fn parts_of_mixtral_are_scored_apart() {
    let truths: [(&str, &[&str]); 4] =
        [("OpenOrca", &["one two"]), ("GSM8K", &["18"]), ("MBXP", &[]), ("GSM8K", &["7"])];
    let texts = ["one two", "The answer is 18", "def f(): pass", "8"].map(|text| text.as_bytes().to_vec());
    let answers = || texts.iter().enumerate().map(|(index, answer)| (index, answer.as_slice()));
    let mixtral = Benchmark::find("mixtral-8x7b").unwrap();
    let score = mixtral.score(answers(), &Truths::Samples(parted(&truths)), None).unwrap().unwrap();
    assert_eq!((score.value, score.samples), (100.0, 4));
    let of = |name: &str| score.others.iter().find(|other| other.target.metric.name() == name).unwrap();
    assert_eq!(["rouge2", "rougeL", "gsm8k"].map(|name| of(name).value.clone()), [Ok(100.0), Ok(100.0), Ok(50.0)]);
    assert_eq!((of("gsm8k").official, of("mbxp").official), (Some("gsm8k_accuracy"), None));
    assert_eq!(of("mbxp").value, Err(ScoreError::Programs));
    assert!(!of("mbxp").is_reached() && of("rouge2").is_reached());
    let missing = mixtral.score(answers().take(3), &Truths::Samples(parted(&truths)), None).unwrap();
    assert_eq!(missing, Err(ScoreError::Missing { index: 3, answered: 3, count: 4 }));
    let truths: [(&str, &[&str]); 4] = [("GSM8K", &["1"]); 4];
    let none = mixtral.score(answers(), &Truths::Samples(parted(&truths)), None).unwrap();
    assert_eq!(none, Err(ScoreError::NoPart("OpenOrca".to_owned())));
}

/// Source: `evaluate-accuracy.py` of Llama 3.1 405B, which tells the parts apart by the column `metric`: the mean of
/// `rougeL` is over those that have it, and that of `exact_match` over the others.
#[test]
fn parts_of_llama_405b_are_scored_apart() {
    const ID: &str = "0a1b2c3d-0000-1111-2222-0123456789ab";
    let truths: [(&str, &[&str]); 5] = [
        ("rouge", &["one two three"]),
        ("niah_em", &[ID]),
        ("qa_em", &["Luna|the moon"]),
        ("rouge", &["four"]),
        ("qa_em", &["yes"]),
    ];
    let texts = ["one two", ID, "Answer: The Moon.", "four", "Answer: no"].map(|text| text.as_bytes().to_vec());
    let answers = || texts.iter().enumerate().map(|(index, answer)| (index, answer.as_slice()));
    let score = |truths: &Truths| {
        let benchmark = Benchmark::find("llama3_1-405b").unwrap();
        let score = benchmark.score(answers(), truths, None).unwrap().unwrap();
        (score.value, score.others[0].value.clone().unwrap(), score.others[0].official)
    };
    let (rouge, exact, official) = score(&Truths::Samples(parted(&truths)));
    assert!((rouge - 100.0 * (0.8 + 1.0) / 2.0).abs() < 1e-9, "{rouge}");
    assert!((exact - 200.0 / 3.0).abs() < 1e-9, "{exact}");
    assert_eq!(official, None, "the script puts sentences on lines");
    let sentences = Some(Sentences::of_files(["", "", "", ""]).unwrap());
    let with = Truths::Decoded(parted(&truths), Arc::new(Reader { tokenizer: None, sentences }));
    assert_eq!(score(&with), (rouge, exact, Some("exact_match")));
}

/// Source: `accuracy_igbh.py` of R-GAT: the first number of an answer is the class, a byte unless it is told otherwise,
/// and of several answers to a node the first counts.
#[test]
fn classes_of_nodes_are_scored_by_their_labels() {
    let rgat = Benchmark::find("rgat").unwrap();
    let score = |outputs: Option<&str>, answers: &[(usize, Vec<u8>)]| {
        let answers = answers.iter().map(|(index, answer)| (*index, answer.as_slice()));
        let truths = Truths::Samples(classes(&[7, 255, 2982, 3]));
        rgat.score(answers, &truths, outputs.and_then(Rows::from_text)).unwrap().unwrap().value
    };
    let each = |class: fn(i64) -> Vec<u8>| [7, 255, 2982, 4].map(class).into_iter().enumerate().collect::<Vec<_>>();
    assert_eq!(score(None, &each(|class| vec![class as u8])), 50.0, "a byte has no 2982");
    assert_eq!(score(None, &each(|class| i64s(&[class]))), 75.0);
    assert_eq!(score(None, &each(|class| i32s(&[class as i32]))), 75.0);
    assert_eq!(score(Some("y i64[N,1]"), &each(|class| i64s(&[class]))), 75.0);
    let logits = |class: i64| row(&(0..2983).map(|place| f32::from(place == class)).collect::<Vec<_>>());
    let all: Vec<_> = [7, 255, 2982, 4].map(logits).into_iter().enumerate().collect();
    assert_eq!(score(Some("y f32[N,2983]"), &all), 75.0);
    let twice = [&[(3, vec![3])][..], &each(|class| vec![class as u8])].concat();
    assert_eq!(score(None, &twice), 75.0);
}

#[test]
fn samples_name_their_part_where_parts_are_scored() {
    let target = Target { parts: &["GSM8K"], ..Target::from(Metric::Gsm8k) };
    let lacking = |truths: Vec<Option<Truth>>| target.first_lacking(&Truths::Samples(truths));
    let good = parted(&[("GSM8K", &["1"]), ("MBXP", &[])]);
    assert_eq!(lacking(good.clone()), None);
    assert_eq!(lacking([good.clone(), parted(&[("GSM8K", &[])])].concat()), Some(2), "no right text");
    let without = Some(Truth::Texts(vec!["1".to_owned()]));
    assert_eq!(lacking([good.clone(), vec![without.clone()]].concat()), Some(2), "no part");
    assert_eq!(lacking([good, vec![None]].concat()), Some(2));
    // Without parts of its own a metric takes texts of any.
    let texts = Truths::Samples([parted(&[("x", &["1"])]), vec![without]].concat());
    assert_eq!(Target::from(Metric::Gsm8k).first_lacking(&texts), None);
    assert_eq!(Target::from(Metric::LongExactMatch).first_lacking(&texts), Some(0), "x has no rule");
}
