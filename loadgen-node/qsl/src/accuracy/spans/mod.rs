//! From start and end logits to the text to which they point, as in MLPerf's reference implementation of BERT
//! (`language/bert/accuracy-squad.py`).
//!
//! A span starts at one of the twenty likeliest places of a window and ends at one of the twenty likeliest. It lies in
//! the passage and has at most thirty pieces. No other window shows more context around its start. Among all windows of
//! a question, the span with the largest sum of its two logits is the answer; of equal ones the first. A window with a
//! NaN among its logits has no spans, because the reference implementation would sort them in no defined order.

use std::cmp::Ordering;

use super::logits::Logits;
use crate::encode::passages::{Question, Reading};

/// The number of places at which a span may start, and at which it may end.
const LIKELIEST: usize = 20;
/// The largest number of pieces of a span.
const LONGEST: u32 = 30;
/// The answer to a question when none of its windows has a span.
const NOTHING: &str = "empty";

/// A stretch of a passage in pieces, and the sum of its two logits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Span {
    first: u32,
    last: u32,
    sum: f64,
}

/// Returns the likeliest span of a window; none when it has no spans.
pub(super) fn likeliest(reading: &Reading, window: usize, logits: &Logits) -> Option<Span> {
    let is_nan = |values: &[f64]| values.iter().any(|value| value.is_nan());
    if is_nan(&logits.start) || is_nan(&logits.end) {
        return None;
    }
    let pieces = |values: &[f64]| -> Vec<(u32, f64)> {
        let piece = |place: usize| Some((reading.piece_at(window, place)?, values[place]));
        largest(values).into_iter().filter_map(piece).collect()
    };
    let (starts, ends) = (pieces(&logits.start), pieces(&logits.end));
    let starts = starts.into_iter().filter(|(first, _)| reading.shows_most_around(window, *first));
    let spans = starts.flat_map(|(first, start)| {
        let within = ends.iter().filter(move |(last, _)| (first..first + LONGEST).contains(last));
        within.map(move |(last, end)| Span { first, last: *last, sum: start + end })
    });
    best(spans)
}

/// Returns the places of the largest values, the largest first; of equal ones the first comes first.
fn largest(values: &[f64]) -> Vec<usize> {
    let mut places: Vec<usize> = (0..values.len()).collect();
    // Zeros of both signs are equal, so `total_cmp` would be wrong.
    places.sort_by(|one, other| values[*other].partial_cmp(&values[*one]).unwrap_or(Ordering::Equal));
    places.truncate(LIKELIEST);
    places
}

/// Returns the first span with the largest sum. A sum of opposite infinities is a NaN, and the span is skipped.
fn best(spans: impl Iterator<Item = Span>) -> Option<Span> {
    let larger = |best: Option<Span>, span: Span| match best {
        Some(best) if best.sum >= span.sum => Some(best),
        _ => Some(span),
    };
    spans.filter(|span| !span.sum.is_nan()).fold(None, larger)
}

/// Returns the text that answers a question; `spans` has the likeliest span of every window.
pub(super) fn answer<'r>(reading: &'r Reading, question: &'r Question, spans: &[Option<Span>]) -> &'r str {
    match best(spans[question.windows.clone()].iter().flatten().copied()) {
        Some(Span { first, last, .. }) => {
            let (pieces, text) = reading.stretch(question, first..=last);
            within(reading, pieces, text)
        }
        None => NOTHING,
    }
}

/// Returns the part of the words that the pieces are, without the punctuation around it that belongs to the same words.
///
/// As in the reference implementation, the words are split into pieces again, and the pieces of the span are searched
/// in the result. That fails when a word has more than one piece, because the marks `##` stand in one text and not in
/// the other. It also fails when the pieces have another number of characters than the words. Then all of the words are
/// the answer.
fn within<'w>(reading: &Reading, pieces: &[u32], text: &'w str) -> &'w str {
    let span_text = joined(reading, pieces).replace(" ##", "").replace("##", "");
    let span_text = span_text.split_whitespace().collect::<Vec<_>>().join(" ");
    let split = joined(reading, &reading.vocabulary.encode(text));
    let Some(at) = split.find(&span_text).filter(|_| !span_text.is_empty()) else { return text };
    let letters: Vec<(usize, char)> = text.char_indices().filter(|(_, c)| *c != ' ').collect();
    if letters.len() != letter_count(&split) {
        return text;
    }
    let first = letter_count(&split[..at]);
    let last = first + letter_count(&span_text) - 1;
    &text[letters[first].0..letters[last].0 + letters[last].1.len_utf8()]
}

/// Joins the texts of pieces with blanks.
fn joined(reading: &Reading, pieces: &[u32]) -> String {
    pieces.iter().map(|id| reading.vocabulary.piece(*id)).collect::<Vec<_>>().join(" ")
}

/// Counts the characters that are not blanks.
fn letter_count(text: &str) -> usize {
    text.chars().filter(|c| *c != ' ').count()
}

#[cfg(test)]
mod tests;
