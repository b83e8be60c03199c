//! The word error rate: how many words must be put in, taken out or replaced to make one text of another, for each word
//! of the right text. Computed as `wer` of the package `jiwer` 4 does: blanks divide words, and capitals and
//! punctuation count.
//!
//! MLPerf's script for Whisper (`speech2text/accuracy_eval.py`) first brings both texts into a common form, with
//! `EnglishTextNormalizer` of the package `whisper`, and lets joined words pass. That is not done here.

use super::squad::words;

/// The errors of texts, and the words that there should be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WordErrors {
    /// The number of words to put in, take out or replace.
    pub errors: usize,
    /// The number of words of the right texts.
    pub words: usize,
}

/// Counts the errors of one text.
pub fn word_errors(text: &str, right: &str) -> WordErrors {
    let (answer, reference): (Vec<&str>, Vec<&str>) = (words(text).collect(), words(right).collect());
    WordErrors { errors: distance(&answer, &reference), words: reference.len() }
}

/// The Levenshtein distance.
fn distance(answer: &[&str], reference: &[&str]) -> usize {
    let mut row: Vec<usize> = (0..=reference.len()).collect();
    for (line, word) in answer.iter().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], line + 1);
        for (place, other) in reference.iter().enumerate() {
            let replaced = diagonal + usize::from(word != other);
            diagonal = row[place + 1];
            row[place + 1] = replaced.min(row[place] + 1).min(diagonal + 1);
        }
    }
    row[reference.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_by_hand() {
        for (text, right, errors, words) in [
            ("a b c", "a b c", 0, 3),
            ("a  x\tc", "a b c", 1, 3),
            ("b c", "a b c", 1, 3),
            ("a b c d e", "a c", 3, 2),
            ("", "a b", 2, 2),
            ("a b", "", 2, 0),
            ("B a", "b a", 1, 2),
        ] {
            assert_eq!(word_errors(text, right), WordErrors { errors, words }, "{text} for {right}");
        }
    }
}
