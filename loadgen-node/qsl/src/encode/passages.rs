//! Questions about passages, as a reading model sees them: in windows of a fixed length.
//!
//! A window is a sample: `[CLS]` question `[SEP]` a stretch of the passage `[SEP]`. A passage that does not fit into one
//! window takes several, which overlap. Windows and their order are those of MLPerf's reference implementation of BERT
//! (`language/bert/create_squad_data.py`), by the lengths that `Shape::REFERENCE` has.

use std::ops::{Range, RangeInclusive};

use crate::encode::wordpiece::WordPiece;

#[cfg(test)]
mod tests;

/// How passages are cut; all in pieces.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// A window, with what stands around its stretch of the passage.
    pub(crate) window: usize,
    /// A question at most; what is longer is cut off. With three more it leaves room in the window.
    pub(crate) question: usize,
    /// From the start of a window to that of the next.
    pub(crate) stride: usize,
}

impl Shape {
    /// Of the reference implementation.
    pub(crate) const REFERENCE: Shape = Shape { window: 384, question: 64, stride: 128 };
}

/// `[CLS]` and two `[SEP]`.
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

/// Texts are less than 4 GiB, so 32 bits have room for whatever is counted in them.
#[derive(Debug)]
struct Passage {
    /// Its words with one blank between them.
    text: String,
    /// Where each word ends in the text.
    word_ends: Vec<u32>,
    pieces: Vec<u32>,
    /// Of which word each piece is.
    words: Vec<u32>,
}

#[derive(Debug)]
pub(crate) struct Question {
    passage: usize,
    pieces: Vec<u32>,
    /// Any of them is right.
    pub(crate) answers: Vec<String>,
    /// None of a passage without pieces.
    pub(crate) windows: Range<usize>,
}

/// A stretch of a passage.
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

/// A window as a model takes it.
#[derive(Debug, Default)]
pub(crate) struct Feature {
    pub(crate) ids: Vec<i64>,
    /// 0 of the question, 1 of the passage.
    pub(crate) types: Vec<i64>,
}

impl Reading {
    pub(crate) fn new(vocabulary: WordPiece, shape: Shape) -> Reading {
        Reading { vocabulary, shape, passages: Vec::new(), questions: Vec::new(), windows: Vec::new() }
    }

    pub(crate) fn add_passage(&mut self, text: &str) {
        let mut passage = Passage { text: String::new(), word_ends: Vec::new(), pieces: Vec::new(), words: Vec::new() };
        for (number, word) in text.split(is_blank).filter(|word| !word.is_empty()).enumerate() {
            passage.text.push_str(if number == 0 { "" } else { " " });
            passage.text.push_str(word);
            passage.word_ends.push(passage.text.len() as u32);
            let pieces = self.vocabulary.encode(word);
            passage.words.extend(std::iter::repeat_n(number as u32, pieces.len()));
            passage.pieces.extend(pieces);
        }
        self.passages.push(passage);
    }

    /// A question about the passage that was added last.
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

    /// Windows, of all questions.
    pub fn samples(&self) -> usize {
        self.windows.len()
    }

    /// Questions.
    pub(crate) fn questions(&self) -> &[Question] {
        &self.questions
    }

    /// Places in a window, which is as many logits as count.
    pub(crate) fn places(&self) -> usize {
        self.shape.window
    }

    /// Places of a window that are not padding.
    pub(crate) fn len(&self, window: usize) -> usize {
        let Window { question, len, .. } = self.windows[window];
        self.questions[question as usize].pieces.len() + MARKS + len as usize
    }

    /// What a model takes of a window, not padded.
    pub(crate) fn feature(&self, window: usize) -> Feature {
        let Window { question, start, len } = self.windows[window];
        let question = &self.questions[question as usize];
        let stretch = &self.passages[question.passage].pieces[start as usize..][..len as usize];
        let (first, separator) = (self.vocabulary.first, self.vocabulary.separator);
        let asked = [&[first], question.pieces.as_slice(), &[separator]].concat();
        let told = [stretch, &[separator]].concat();
        let types = [vec![0; asked.len()], vec![1; told.len()]].concat();
        Feature { ids: asked.into_iter().chain(told).map(i64::from).collect(), types }
    }

    /// Which piece of its passage stands at a place of a window; none: a piece of the question, a mark, or padding.
    pub(crate) fn piece_at(&self, window: usize, place: usize) -> Option<u32> {
        let Window { question, start, len } = self.windows[window];
        let before = self.questions[question as usize].pieces.len() + MARKS - 1;
        let at = place.checked_sub(before).filter(|at| *at < len as usize)?;
        Some(start + at as u32)
    }

    /// Whether no other window of the question shows more of what stands around this piece: the smaller of what is left
    /// and right of it counts, and a hundredth of the stretch's length. Of equal windows it is the first.
    pub(crate) fn shows_most_around(&self, window: usize, piece: u32) -> bool {
        let all = &self.questions[self.windows[window].question as usize].windows;
        let mut best: Option<(f64, usize)> = None;
        for number in all.clone() {
            let Window { start, len, .. } = self.windows[number];
            let end = self.windows[number].end();
            if (start..end).contains(&piece) {
                let shown = f64::from((piece - start).min(end - 1 - piece)) + 0.01 * f64::from(len);
                if best.is_none_or(|(most, _)| shown > most) {
                    best = Some((shown, number));
                }
            }
        }
        best.is_some_and(|(_, number)| number == window)
    }

    /// Pieces of a question's passage, as ids, and the words that they are of.
    pub(crate) fn stretch(&self, question: &Question, pieces: RangeInclusive<u32>) -> (&[u32], &str) {
        let passage = &self.passages[question.passage];
        let (first, last) = (*pieces.start() as usize, *pieces.end() as usize);
        let (first_word, last_word) = (passage.words[first] as usize, passage.words[last] as usize);
        // Behind the blank that follows the word before.
        let text_start = first_word.checked_sub(1).map_or(0, |before| passage.word_ends[before] as usize + 1);
        (&passage.pieces[first..=last], &passage.text[text_start..passage.word_ends[last_word] as usize])
    }
}

/// What parts the words of a passage: fewer blanks than Unicode has.
fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n' | '\u{202f}')
}
