//! Texts as the pieces of words that BERT knows: WordPiece, without case and accents.
//!
//! What it does to a text is what `BertTokenizer(vocab_file)` of transformers 4 does, the slow one that the reference
//! implementation of BERT calls; a test compares the two. The kinds of characters are of a newer Unicode than most
//! Pythons have: what is younger than theirs may be read another way, and of Unicode 14 one sign of Ahom is.
//!
//! - `words`: from a text to words and punctuation;
//! - here: from a word to its pieces.

use std::collections::HashMap;
use std::sync::Arc;

mod words;

#[cfg(test)]
mod tests;

/// Texts that are pieces of their own, wherever they stand and in capitals only.
const WHOLE: [&str; 5] = ["[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]"];

/// What stands before a piece that is not the first of its word.
const WITHIN: &str = "##";

/// A word of more characters is not known.
const LONGEST_WORD: usize = 100;

/// A vocabulary, by which texts are split.
#[derive(Debug)]
pub(crate) struct WordPiece {
    ids: HashMap<Arc<str>, u32>,
    /// By id.
    pieces: Vec<Arc<str>>,
    unknown: u32,
    /// Stands before a text.
    pub(crate) first: u32,
    /// Stands behind a text.
    pub(crate) separator: u32,
}

/// A vocabulary that cannot be BERT's.
#[derive(Debug, thiserror::Error)]
#[error("no line of it is {0}: it is no vocabulary of BERT, which has a piece a line")]
pub(crate) struct VocabularyError(&'static str);

impl WordPiece {
    /// Reads a vocabulary: a piece a line, whose number, counted from 0, is its id. Of two lines that are the same the
    /// last has the id.
    ///
    /// # Errors
    /// It lacks one of the pieces that every BERT has.
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

    /// The piece of this id, which is one of [`WordPiece::encode`].
    pub(crate) fn piece(&self, id: u32) -> &str {
        &self.pieces[id as usize]
    }

    /// The ids of a text's pieces.
    pub(crate) fn encode(&self, text: &str) -> Vec<u32> {
        let mut ids = Vec::new();
        let mut rest = text;
        while let Some((at, whole)) = next_whole(rest) {
            self.encode_words(&rest[..at], &mut ids);
            ids.push(self.ids[whole]);
            rest = &rest[at + whole.len()..];
        }
        self.encode_words(rest, &mut ids);
        ids
    }

    fn encode_words(&self, text: &str, ids: &mut Vec<u32>) {
        for word in words::words(text) {
            let before = ids.len();
            if word.chars().nth(LONGEST_WORD).is_some() || !self.encode_word(&word, ids) {
                ids.truncate(before);
                ids.push(self.unknown);
            }
        }
    }

    /// The longest piece that the word starts with, then the longest that the rest starts with, and so on. Whether that
    /// went to the word's end.
    fn encode_word(&self, word: &str, ids: &mut Vec<u32>) -> bool {
        let mut rest = word.to_owned();
        let mut mark = 0;
        while rest.len() > mark {
            let ends = rest.char_indices().map(|(at, c)| at + c.len_utf8()).rev().take_while(|end| *end > mark);
            let found = ends.filter_map(|end| Some((end, *self.ids.get(&rest[..end])?))).next();
            let Some((end, id)) = found else { return false };
            ids.push(id);
            rest.replace_range(..end, WITHIN);
            mark = WITHIN.len();
        }
        true
    }
}

/// Where the next text stands that is a piece of its own, and which it is.
fn next_whole(text: &str) -> Option<(usize, &'static str)> {
    let found = WHOLE.into_iter().filter_map(|whole| Some((text.find(whole)?, whole)));
    found.min_by_key(|(at, _)| *at)
}
