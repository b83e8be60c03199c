use std::sync::Arc;

use super::*;
use crate::accuracy::{Metric, Rows, Score, ScoreError, Target, Truths};
use crate::encode::passages::Shape;
use crate::encode::wordpiece::WordPiece;

const PIECES: &str = "steve smith ' s ( 1895 - 1943 ) . play ##ing cafes a b c d e f g h i j";
const WINDOW: usize = 48;

/// One passage and questions about it, of no words, so that its first piece is at place 2.
fn reading(passage: &str, answers: &[&str]) -> Reading {
    sized(WINDOW, 9, passage, answers)
}

fn sized(window: usize, stride: usize, passage: &str, answers: &[&str]) -> Reading {
    let marks = "[PAD] [UNK] [CLS] [SEP] [MASK]";
    let vocabulary = WordPiece::new(&format!("{marks} {PIECES}").replace(' ', "\n")).unwrap();
    let mut reading = Reading::new(vocabulary, Shape { window, question: 4, stride });
    reading.add_passage(passage);
    for answer in answers {
        reading.add_question("", vec![(*answer).to_owned()]);
    }
    reading
}

/// The logits of a window: `low` but for these pieces of its stretch.
fn logits(reading: &Reading, low: f64, starts: &[(usize, f64)], ends: &[(usize, f64)]) -> Logits {
    let row = |peaks: &[(usize, f64)]| {
        let mut row = vec![low; reading.places()];
        peaks.iter().for_each(|(piece, value)| row[piece + 2] = *value);
        row
    };
    Logits { start: row(starts), end: row(ends) }
}

fn text<'r>(reading: &'r Reading, logits: &[Logits]) -> &'r str {
    let spans: Vec<_> = logits.iter().enumerate().map(|(window, l)| likeliest(reading, window, l)).collect();
    answer(reading, &reading.questions()[0], &spans)
}

/// The text of a span of pieces.
fn pointed(passage: &str, first: usize, last: usize) -> String {
    let reading = reading(passage, &["x"]);
    text(&reading, &[logits(&reading, -9.0, &[(first, 5.0)], &[(last, 5.0)])]).to_owned()
}

#[test]
fn punctuation_of_the_same_word_is_left_out() {
    let passage = "Steve  Smith's (1895-1943). ";
    for (first, last, expected) in [
        (0, 1, "Steve Smith"),
        (0, 3, "Steve Smith's"),
        (2, 2, "'"),
        (5, 5, "1895"),
        (5, 7, "1895-1943"),
        (4, 9, "(1895-1943)."),
        (1, 5, "Smith's (1895"),
    ] {
        assert_eq!(pointed(passage, first, last), expected, "{first} {last}");
    }
}

#[test]
fn words_of_several_pieces_and_of_other_lengths_answer_as_a_whole() {
    // The marks of pieces stand in the one text and not in the other.
    assert_eq!(pointed("Steve (playing).", 2, 3), "(playing).");
    assert_eq!(pointed("Steve (playing).", 3, 3), "(playing).");
    // One piece, which is found, but of another length than what it was made of.
    assert_eq!(pointed("Steve playing.", 1, 1), "playing.");
    assert_eq!(pointed("Cafés.", 0, 0), "Cafés");
    assert_eq!(pointed("Cafe\u{301}s.", 0, 0), "Cafe\u{301}s.");
    assert_eq!(pointed("Unknown.", 0, 0), "Unknown.");
    // As long as what it was made of by chance: two accents for two marks. The piece is found without its mark.
    assert_eq!(pointed("pla\u{301}yi\u{301}ng", 1, 1), "\u{301}ng");
    // The first place where the pieces are found, whichever was pointed at.
    assert_eq!(pointed("(A-a-a)", 3, 3), "A");
}

#[test]
fn of_equal_sums_the_first_start_and_then_the_first_end_answers() {
    let reading = reading("a b c d e f g h i j", &["x"]);
    assert_eq!(text(&reading, &[logits(&reading, 1.0, &[], &[])]), "a");
    // Starts in the order of their logits: 4 + 1 of "c d" comes before 3 + 2 of "b".
    let by_start = logits(&reading, -9.0, &[(1, 3.0), (2, 4.0)], &[(3, 1.0), (1, 2.0)]);
    assert_eq!(text(&reading, &[by_start]), "c d");
    let signs = logits(&reading, -9.0, &[(3, -0.0), (5, 0.0)], &[(3, 0.0), (5, -0.0)]);
    assert_eq!(text(&reading, &[signs]), "d");
}

#[test]
fn ends_before_starts_and_spans_of_more_than_thirty_are_none() {
    let reading = reading(&"a b c d e f g h i j ".repeat(4), &["x"]);
    let backwards = logits(&reading, -9.0, &[(5, 5.0), (1, 0.0)], &[(2, 5.0), (6, 1.0)]);
    assert_eq!(text(&reading, &[backwards]), "f g");
    let wide = logits(&reading, -99.0, &[(0, 5.0)], &[(30, 9.0), (29, 1.0)]);
    assert_eq!(text(&reading, &[wide]).split(' ').count(), 30);
    // Places of question and marks never answer, nor those behind the passage.
    let mut outside = logits(&reading, -9.0, &[(3, 1.0)], &[(3, 1.0)]);
    (outside.start[0], outside.end[1], outside.start[42], outside.end[47]) = (50.0, 50.0, 50.0, 50.0);
    assert_eq!(text(&reading, &[outside]), "d");
    // Only the twenty likeliest places count: here they are all before the passage's end, and no pair is one.
    let order: Vec<(usize, f64)> = (0..20).map(|piece| (piece, 5.0)).collect();
    let apart: Vec<(usize, f64)> = (20..40).map(|piece| (piece, 5.0)).collect();
    assert_eq!(text(&reading, &[logits(&reading, 0.0, &apart, &order)]), "empty");
}

#[test]
fn what_is_no_number_gives_no_answer() {
    let reading = reading("a b c", &["x"]);
    assert_eq!(text(&reading, &[logits(&reading, 0.0, &[(1, f64::NAN)], &[])]), "empty");
    let (up, down) = (f64::INFINITY, f64::NEG_INFINITY);
    assert_eq!(text(&reading, &[logits(&reading, 0.0, &[(1, up)], &[(1, down), (2, 1.0)])]), "b c");
}

#[test]
fn the_best_of_all_windows_answers_where_it_is_seen_best() {
    // 10 less 3 marks leave 7: a..g and d..j.
    let reading = sized(10, 3, "a b c d e f g h i j", &["x"]);
    let first = |value| logits(&reading, -9.0, &[(1, value)], &[(2, 1.0)]);
    let second = logits(&reading, -9.0, &[(4, 3.0)], &[(5, 1.0)]);
    assert_eq!(text(&reading, &[first(2.0), second.clone()]), "h i");
    assert_eq!(text(&reading, &[first(4.0), second.clone()]), "b c");
    assert_eq!(text(&reading, &[first(3.0), second.clone()]), "b c", "the first of equal ones");
    // d is seen best in the first window, where it has three on either side.
    let elsewhere = logits(&reading, -9.0, &[(0, 99.0), (3, 1.0)], &[(3, 1.0)]);
    assert_eq!(text(&reading, &[logits(&reading, -99.0, &[], &[]), elsewhere]), "g");
}

fn bytes(logits: &Logits) -> Vec<u8> {
    logits.start.iter().chain(&logits.end).flat_map(|value| (*value as f32).to_le_bytes()).collect()
}

fn score(metric: Metric, answers: &[Vec<u8>], reading: &Arc<Reading>, rows: Option<&str>) -> Result<Score, ScoreError> {
    let target = Target { at_least: Some(50.0), ..Target::from(metric) };
    let answers = answers.iter().enumerate().map(|(index, answer)| (index, answer.as_slice()));
    target.score(answers, &Truths::Questions(Arc::clone(reading)), rows.and_then(Rows::from_text))
}

#[test]
fn a_score_is_the_mean_over_questions_however_many_windows_they_have() {
    let reading = Arc::new({
        let mut reading = sized(10, 3, "a b c d e f g h i j", &["h i"]);
        reading.add_passage("d e");
        reading.add_question("", vec!["d e f".to_owned(), "f".to_owned()]);
        reading
    });
    let none = logits(&reading, -9.0, &[], &[]);
    let second = logits(&reading, -9.0, &[(4, 3.0)], &[(5, 1.0)]);
    let third = logits(&reading, -9.0, &[(0, 3.0)], &[(1, 1.0)]);
    let answers = [none, second, third].map(|logits| bytes(&logits));
    // Right; and 2 of 2 words given, 2 of 3 wanted: 2 * (1 * 2/3) / (5/3) = 0.8.
    let f1 = score(Metric::F1, &answers, &reading, None).unwrap();
    assert!((f1.value - 90.0).abs() < 1e-12 && (f1.samples, f1.questions) == (3, Some(2)), "{f1:?}");
    assert_eq!(score(Metric::ExactMatch, &answers, &reading, None).unwrap().value, 50.0);
    // As pairs the same says the same, if it is said to be pairs.
    let pairs: Vec<Vec<u8>> = answers.iter().map(|answer| interleaved(answer)).collect();
    assert_eq!(score(Metric::F1, &pairs, &reading, Some("logits f32[N,10,2]")), Ok(f1.clone()));
    let two = Some("start_logits f32[N,10], end_logits f32[N,10]");
    assert_eq!(score(Metric::F1, &answers, &reading, two), Ok(f1.clone()));
    // The last window has five places before its padding: what is missing is likely nowhere. Fewer are no answer to it.
    let cut = |bytes: usize| [&answers[2][..bytes], &answers[2][40..40 + bytes]].concat();
    let with = |last: Vec<u8>| score(Metric::F1, &[answers[0].clone(), answers[1].clone(), last], &reading, None);
    assert_eq!(with(cut(20)), Ok(f1.clone()));
    assert!(matches!(with(cut(16)), Err(ScoreError::Logits { index: 2, least: 5, places: 10, .. })));
}

fn interleaved(answer: &[u8]) -> Vec<u8> {
    let (start, end) = answer.split_at(answer.len() / 2);
    start.chunks(4).zip(end.chunks(4)).flat_map(|(start, end)| [start, end].concat()).collect()
}

#[test]
fn what_are_no_logits_is_said() {
    let reading = Arc::new(reading("a b c", &["x"]));
    for (answer, rows, part) in [
        (vec![0; 9], None, "9 bytes: no start and end logits of 6 to 48 places; taken for f32[2,?]"),
        (vec![0; 8 * 49], None, "392 bytes"),
        (Vec::new(), None, "0 bytes"),
        (vec![0; 8], Some("start f32[N,48], end f32[N,48]"), "outputs are f32[2,48]"),
    ] {
        let message = score(Metric::F1, &[answer], &reading, rows).unwrap_err().to_string();
        assert!(message.contains("sample 0") && message.contains(part), "{message}");
    }
    let message = score(Metric::F1, &[vec![0; 8]], &reading, Some("label i64[N]")).unwrap_err();
    assert_eq!(message.to_string(), "questions are answered by start and end logits, not by 1 i64");
    let answer = vec![vec![0; 8 * 48]];
    assert!(matches!(score(Metric::Top1, &answer, &reading, None), Err(ScoreError::Label { index: 0, .. })));
    assert!(matches!(score(Metric::F1, &[], &reading, None), Err(ScoreError::Missing { index: 0, .. })));
    let two = [answer[0].clone(), answer[0].clone()];
    assert!(matches!(score(Metric::F1, &two, &reading, None), Err(ScoreError::NoSample { index: 1, count: 1 })));
}
