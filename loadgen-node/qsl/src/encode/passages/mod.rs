//! Questions about passages, cut into windows of a fixed length, as a reading model (BERT on SQuAD) takes them.
//!
//! A window is a sample: `[CLS]` question `[SEP]` a stretch of the passage `[SEP]`. A passage that does not fit into
//! one window takes several windows, which overlap. With the lengths of `Shape::REFERENCE` windows and their order
//! are those of MLPerf's reference implementation of BERT (`language/bert/create_squad_data.py`).
//!
//! A piece is a part of a word, or a word, that has a token id (see `wordpiece`).

use std::ops::{Range, RangeInclusive};

use super::tokens::Tokens;
use super::wordpiece::WordPiece;

#[cfg(test)]
mod tests;

/// The lengths by which passages are cut, all in pieces.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// The length of a window: question, marks and stretch of the passage.
    pub(crate) window: usize,
    /// The largest length of a question, whose end is cut off. With three marks it must leave room in the window.
    pub(crate) question: usize,
    /// The distance from the start of one stretch to the start of the next.
    pub(crate) stride: usize,
}

impl Shape {
    /// The lengths of the reference implementation.
    pub(crate) const REFERENCE: Shape = Shape { window: 384, question: 64, stride: 128 };
}

/// The number of marks in a window: `[CLS]` and two `[SEP]`.
const MARKS: usize = 3;

/// Passages, questions about them, and their windows.
#[derive(Debug)]
pub struct Reading {
    pub(crate) vocabulary: WordPiece,
    shape: Shape,
    passages: Vec<Passage>,
    questions: Vec<Question>,
    windows: Vec<Window>,
}

/// One passage. Its text has less than 4 GiB, so that 32 bits can count words, pieces and bytes.
#[derive(Debug)]
struct Passage {
    /// The words with one blank between them.
    text: String,
    /// The end of each word in the text, in bytes.
    word_ends: Vec<u32>,
    /// The token ids of all pieces.
    pieces: Vec<u32>,
    /// For each piece, the number of its word.
    word_numbers: Vec<u32>,
}

/// One question about a passage.
#[derive(Debug)]
pub(crate) struct Question {
    passage: usize,
    /// The token ids of the question.
    pieces: Vec<u32>,
    /// The right answers, of which the SUT must give one.
    pub(crate) answers: Vec<String>,
    /// The numbers of its windows; empty when the passage has no pieces.
    pub(crate) windows: Range<usize>,
}

/// One window: a question and a stretch of its passage, counted in pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Window {
    question: u32,
    start: u32,
    len: u32,
}

impl Window {
    fn end(self) -> u32 {
        self.start + self.len
    }
}

/// The token ids of a window, not padded.
#[derive(Debug, Default)]
pub(crate) struct Feature {
    pub(crate) ids: Vec<i64>,
    /// For each id, 0 when it belongs to the question and 1 when it belongs to the passage.
    pub(crate) types: Vec<i64>,
}

impl Feature {
    /// Returns ids and types as the tokens of one text.
    pub(crate) fn tokens(&self) -> Tokens<'_> {
        Tokens { ids: &self.ids, types: Some(&self.types), ..Tokens::default() }
    }
}

impl Reading {
    /// Starts with a vocabulary and without passages.
    pub(crate) fn new(vocabulary: WordPiece, shape: Shape) -> Reading {
        Reading { vocabulary, shape, passages: Vec::new(), questions: Vec::new(), windows: Vec::new() }
    }

    /// Adds a passage; questions that are added next are about it.
    pub(crate) fn add_passage(&mut self, text: &str) {
        let mut passage =
            Passage { text: String::new(), word_ends: Vec::new(), pieces: Vec::new(), word_numbers: Vec::new() };
        for (number, word) in text.split(is_blank).filter(|word| !word.is_empty()).enumerate() {
            passage.text.push_str(if number == 0 { "" } else { " " });
            passage.text.push_str(word);
            passage.word_ends.push(passage.text.len() as u32);
            let pieces = self.vocabulary.encode(word);
            passage.word_numbers.extend(std::iter::repeat_n(number as u32, pieces.len()));
            passage.pieces.extend(pieces);
        }
        self.passages.push(passage);
    }

    /// Adds a question about the passage that was added last, with its right answers, and cuts its windows.
    pub(crate) fn add_question(&mut self, text: &str, answers: Vec<String>) {
        let Some(passage) = self.passages.len().checked_sub(1) else { return };
        let mut pieces = self.vocabulary.encode(text);
        pieces.truncate(self.shape.question);
        let first = self.windows.len();
        let room = self.shape.window.saturating_sub(pieces.len() + MARKS).max(1);
        let (question, total) = (self.questions.len() as u32, self.passages[passage].pieces.len());
        let mut start = 0;
        while start < total {
            let len = room.min(total - start);
            self.windows.push(Window { question, start: start as u32, len: len as u32 });
            start = if start + len == total { total } else { start + len.min(self.shape.stride) };
        }
        self.questions.push(Question { passage, pieces, answers, windows: first..self.windows.len() });
    }

    /// Returns the number of windows of all questions, which is the number of samples.
    pub fn samples(&self) -> usize {
        self.windows.len()
    }

    /// Returns the questions in the order in which they were added.
    pub(crate) fn questions(&self) -> &[Question] {
        &self.questions
    }

    /// Returns the number of places in a window, padding included.
    pub(crate) fn places(&self) -> usize {
        self.shape.window
    }

    /// Returns the number of places of a window that are not padding.
    pub(crate) fn len(&self, window: usize) -> usize {
        let Window { question, len, .. } = self.windows[window];
        self.questions[question as usize].pieces.len() + MARKS + len as usize
    }

    /// Returns the token ids and types of a window.
    pub(crate) fn feature(&self, window: usize) -> Feature {
        let Window { question, start, len } = self.windows[window];
        let question = &self.questions[question as usize];
        let stretch = &self.passages[question.passage].pieces[start as usize..][..len as usize];
        let (first, separator) = (self.vocabulary.first, self.vocabulary.separator);
        let question_ids = [&[first], question.pieces.as_slice(), &[separator]].concat();
        let passage_ids = [stretch, &[separator]].concat();
        let types = [vec![0; question_ids.len()], vec![1; passage_ids.len()]].concat();
        Feature { ids: question_ids.into_iter().chain(passage_ids).map(i64::from).collect(), types }
    }

    /// Returns the number of the passage's piece that stands at a place of a window. None when a piece of the question,
    /// a mark or padding stands there.
    pub(crate) fn piece_at(&self, window: usize, place: usize) -> Option<u32> {
        let Window { question, start, len } = self.windows[window];
        let before = self.questions[question as usize].pieces.len() + MARKS - 1;
        let at = place.checked_sub(before).filter(|at| *at < len as usize)?;
        Some(start + at as u32)
    }

    /// Tells whether this window shows the most context around a piece, among all windows of the question. Context is
    /// the smaller of the numbers of pieces on both sides, plus a hundredth of the stretch's length. Of equal windows
    /// the first shows the most.
    pub(crate) fn shows_most_around(&self, window: usize, piece: u32) -> bool {
        let all = &self.questions[self.windows[window].question as usize].windows;
        let mut best: Option<(f64, usize)> = None;
        for number in all.clone() {
            let Window { start, len, .. } = self.windows[number];
            let end = self.windows[number].end();
            if (start..end).contains(&piece) {
                let context = f64::from((piece - start).min(end - 1 - piece)) + 0.01 * f64::from(len);
                if best.is_none_or(|(most, _)| context > most) {
                    best = Some((context, number));
                }
            }
        }
        best.is_some_and(|(_, number)| number == window)
    }

    /// Returns the token ids of these pieces of a question's passage, and the text of the words to which they belong.
    pub(crate) fn stretch(&self, question: &Question, pieces: RangeInclusive<u32>) -> (&[u32], &str) {
        let passage = &self.passages[question.passage];
        let (first, last) = (*pieces.start() as usize, *pieces.end() as usize);
        let (first_word, last_word) = (passage.word_numbers[first] as usize, passage.word_numbers[last] as usize);
        // The text of a word starts after the blank that follows the previous word.
        let text_start = first_word.checked_sub(1).map_or(0, |before| passage.word_ends[before] as usize + 1);
        (&passage.pieces[first..=last], &passage.text[text_start..passage.word_ends[last_word] as usize])
    }
}

/// Tells whether a character separates the words of a passage, as in the reference implementation.
fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n' | '\u{202f}')
}
