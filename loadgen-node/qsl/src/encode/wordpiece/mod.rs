//! BERT's tokenizer WordPiece, without case and accents: from a text to the ids of pieces of words.
//!
//! It does what `BertTokenizer(vocab_file)` of transformers 4 does, which the reference implementation of BERT calls; a
//! test compares the two. It uses a newer Unicode than most versions of Python. Characters that are newer than a
//! Python's Unicode may be read in another way; compared with Unicode 14 that is one sign of the script Ahom.
//!
//! - [`words`]: from a text to words and punctuation;
//! - here: from a word to its pieces.

use std::collections::HashMap;
use std::sync::Arc;

mod words;

#[cfg(test)]
mod tests;

/// The marks: texts in capitals that are one piece wherever they stand.
const WHOLE: [&str; 5] = ["[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]"];

/// The prefix of every piece that is not the first of its word.
const WITHIN: &str = "##";

/// The largest number of characters of a word. A longer word is unknown.
const LONGEST_WORD: usize = 100;

/// A vocabulary, which says into which pieces texts are split.
#[derive(Debug)]
pub(crate) struct WordPiece {
    ids: HashMap<Arc<str>, u32>,
    /// The pieces by their ids.
    pieces: Vec<Arc<str>>,
    /// The id of `[UNK]`, which stands for an unknown word.
    unknown: u32,
    /// The id of `[CLS]`, which stands before a text.
    pub(crate) first: u32,
    /// The id of `[SEP]`, which stands after a text.
    pub(crate) separator: u32,
}

/// The error for a file that is not a vocabulary of BERT: it has no line with this mark.
#[derive(Debug, thiserror::Error)]
#[error("no line of it is {0}: it is no vocabulary of BERT, which has a piece a line")]
pub(crate) struct VocabularyError(&'static str);

impl WordPiece {
    /// Reads a vocabulary, which has a piece on each line. The id of a piece is the number of its line, counted from 0;
    /// when a piece has two lines, the last one counts.
    ///
    /// # Errors
    /// The vocabulary has no line for one of the marks that every BERT has.
    pub(crate) fn new(vocabulary: &str) -> Result<WordPiece, VocabularyError> {
        let lines = vocabulary.strip_suffix('\n').unwrap_or(vocabulary).split('\n');
        let pieces: Vec<Arc<str>> = lines.map(|line| line.strip_suffix('\r').unwrap_or(line).into()).collect();
        let ids: HashMap<Arc<str>, u32> = pieces.iter().cloned().zip(0..).collect();
        let id = |piece: &'static str| ids.get(piece).copied().ok_or(VocabularyError(piece));
        let [unknown, separator, _, first, _] = WHOLE;
        let (unknown, separator, first) = (id(unknown)?, id(separator)?, id(first)?);
        WHOLE.into_iter().try_for_each(|piece| id(piece).map(drop))?;
        Ok(WordPiece { ids, pieces, unknown, first, separator })
    }

    /// Returns the piece with this id, which must be one that [`WordPiece::encode`] returned.
    pub(crate) fn piece(&self, id: u32) -> &str {
        &self.pieces[id as usize]
    }

    /// Returns the ids of the pieces of a text.
    pub(crate) fn encode(&self, text: &str) -> Vec<u32> {
        let mut ids = Vec::new();
        let mut tail = text;
        while let Some((at, whole)) = next_whole(tail) {
            self.encode_words(&tail[..at], &mut ids);
            ids.push(self.ids[whole]);
            tail = &tail[at + whole.len()..];
        }
        self.encode_words(tail, &mut ids);
        ids
    }

    /// Adds the ids of a text without marks.
    fn encode_words(&self, text: &str, ids: &mut Vec<u32>) {
        for word in words::words(text) {
            let before = ids.len();
            if word.chars().nth(LONGEST_WORD).is_some() || !self.encode_word(&word, ids) {
                ids.truncate(before);
                ids.push(self.unknown);
            }
        }
    }

    /// Adds the ids of one word: the longest piece with which it starts, then the longest with which the rest starts,
    /// and so on. Returns false when no piece starts the rest.
    fn encode_word(&self, word: &str, ids: &mut Vec<u32>) -> bool {
        let mut tail = word.to_owned();
        let mut mark = 0;
        while tail.len() > mark {
            let ends = tail.char_indices().map(|(at, c)| at + c.len_utf8()).rev().take_while(|end| *end > mark);
            let piece = ends.filter_map(|end| Some((end, *self.ids.get(&tail[..end])?))).next();
            let Some((end, id)) = piece else { return false };
            ids.push(id);
            tail.replace_range(..end, WITHIN);
            mark = WITHIN.len();
        }
        true
    }
}

/// Returns the place of the next mark in a text, and the mark.
fn next_whole(text: &str) -> Option<(usize, &'static str)> {
    let marks = WHOLE.into_iter().filter_map(|whole| Some((text.find(whole)?, whole)));
    marks.min_by_key(|(at, _)| *at)
}
