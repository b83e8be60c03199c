//! From start and end logits to the text that they point at, as MLPerf's reference implementation of BERT has it
//! (`language/bert/accuracy-squad.py`).
//!
//! A span starts at one of the twenty likeliest places of a window and ends at one of the twenty likeliest; it lies in
//! the passage, is no longer than thirty pieces, and its start is seen nowhere better than in this window. The span
//! whose logits have the largest sum answers, of all windows of a question; of equal ones the first. A window with a NaN
//! among its logits has no spans: that implementation would sort them in no order.

use std::cmp::Ordering;

use super::logits::Logits;
use crate::encode::passages::{Question, Reading};

/// Places at which a span may start, and at which it may end.
const LIKELIEST: usize = 20;
/// Pieces of a span.
const LONGEST: u32 = 30;
/// The answer to a question whose windows have no spans.
const NOTHING: &str = "empty";

/// Pieces of a passage, and how likely they answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Span {
    first: u32,
    last: u32,
    sum: f64,
}

/// The likeliest span of a window.
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

/// Places of the largest values, the largest first; of equal ones the first comes first.
fn largest(values: &[f64]) -> Vec<usize> {
    let mut places: Vec<usize> = (0..values.len()).collect();
    // Zeros of either sign are equal.
    places.sort_by(|one, other| values[*other].partial_cmp(&values[*one]).unwrap_or(Ordering::Equal));
    places.truncate(LIKELIEST);
    places
}

/// The first of those with the largest sum. Infinities that cancel each other out have none.
fn best(spans: impl Iterator<Item = Span>) -> Option<Span> {
    let larger = |best: Option<Span>, span: Span| match best {
        Some(best) if best.sum >= span.sum => Some(best),
        _ => Some(span),
    };
    spans.filter(|span| !span.sum.is_nan()).fold(None, larger)
}

/// The answer to a question; `spans` are the likeliest of all windows.
pub(super) fn answer<'r>(reading: &'r Reading, question: &'r Question, spans: &[Option<Span>]) -> &'r str {
    match best(spans[question.windows.clone()].iter().flatten().copied()) {
        Some(Span { first, last, .. }) => {
            let (pieces, words) = reading.stretch(question, first..=last);
            within(reading, pieces, words)
        }
        None => NOTHING,
    }
}

/// What of the words the pieces are, without punctuation before or behind them that is of the same word.
///
/// The words are split again, and the pieces looked for in what comes out. That finds nothing where a word has more than
/// one piece, since their marks stand in one text and not in the other; and it must be as long as the words are. Else
/// all of the words answer.
fn within<'w>(reading: &Reading, pieces: &[u32], words: &'w str) -> &'w str {
    let wanted = joined(reading, pieces).replace(" ##", "").replace("##", "");
    let wanted = wanted.split_whitespace().collect::<Vec<_>>().join(" ");
    let split = joined(reading, &reading.vocabulary.encode(words));
    let Some(at) = split.find(&wanted).filter(|_| !wanted.is_empty()) else { return words };
    let seen: Vec<(usize, char)> = words.char_indices().filter(|(_, c)| *c != ' ').collect();
    if seen.len() != seen_in(&split) {
        return words;
    }
    let first = seen_in(&split[..at]);
    let last = first + seen_in(&wanted) - 1;
    &words[seen[first].0..seen[last].0 + seen[last].1.len_utf8()]
}

fn joined(reading: &Reading, pieces: &[u32]) -> String {
    pieces.iter().map(|id| reading.vocabulary.piece(*id)).collect::<Vec<_>>().join(" ")
}

/// Characters that are no blanks.
fn seen_in(text: &str) -> usize {
    text.chars().filter(|c| *c != ' ').count()
}

#[cfg(test)]
mod tests;
