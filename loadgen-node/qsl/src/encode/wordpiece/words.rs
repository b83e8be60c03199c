//! From a text to its words: small letters without accents; punctuation and Chinese characters are words by themselves.

use unicode_normalization::UnicodeNormalization as _;
use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory as _};

/// The words of a text.
pub(super) fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    for word in plain(text).split_whitespace() {
        split_at_punctuation(word, &mut words);
    }
    words
}

/// In small letters, with blanks for all that is blank and around Chinese characters, without what cannot be seen.
/// Characters become small one by one: a sigma is never a final one.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len() + text.len() / 8);
    for c in text.chars().flat_map(char::to_lowercase) {
        match c {
            _ if is_blank(c) => plain.push(' '),
            _ if is_invisible(c) => {}
            _ if is_chinese(c) => plain.extend([' ', c, ' ']),
            _ => plain.push(c),
        }
    }
    plain
}

fn split_at_punctuation(word: &str, words: &mut Vec<String>) {
    let mut current = String::new();
    for c in word.nfd().filter(|c| !is_accent(*c)) {
        if is_punctuation(c) {
            words.extend((!current.is_empty()).then(|| std::mem::take(&mut current)));
            words.push(c.to_string());
        } else {
            current.push(c);
        }
    }
    words.extend((!current.is_empty()).then_some(current));
}

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r') || (!c.is_ascii() && c.general_category() == GeneralCategory::SpaceSeparator)
}

/// Controls, marks of format, what is not assigned; and what stands for a character that could not be read.
fn is_invisible(c: char) -> bool {
    match c.is_ascii() {
        true => c.is_ascii_control(),
        false => c == '\u{fffd}' || c.general_category_group() == GeneralCategoryGroup::Other,
    }
}

fn is_accent(c: char) -> bool {
    !c.is_ascii() && c.general_category() == GeneralCategory::NonspacingMark
}

/// In ASCII all that is neither letter nor digit; beyond it what Unicode says.
fn is_punctuation(c: char) -> bool {
    match c.is_ascii() {
        true => c.is_ascii_punctuation(),
        false => c.general_category_group() == GeneralCategoryGroup::Punctuation,
    }
}

/// The blocks of ideographs that BERT's tokenizer knows; kana and hangul are not among them.
fn is_chinese(c: char) -> bool {
    matches!(
        c,
        '\u{3400}'..='\u{4dbf}'
            | '\u{4e00}'..='\u{9fff}'
            | '\u{f900}'..='\u{faff}'
            | '\u{20000}'..='\u{2a6df}'
            | '\u{2a700}'..='\u{2ceaf}'
            | '\u{2f800}'..='\u{2fa1f}'
    )
}
