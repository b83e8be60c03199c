//! From a text to its words, in lower case and without accents. Each punctuation mark and each Chinese character is a
//! word.

use unicode_normalization::UnicodeNormalization as _;
use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory as _};

/// Returns the words of a text.
pub(super) fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    for word in plain(text).split_whitespace() {
        split_at_punctuation(word, &mut words);
    }
    words
}

/// Returns a text in lower case, without invisible characters, with blanks around Chinese characters and a plain blank
/// for each blank. Characters are lowered one by one, so that a sigma never becomes a final sigma.
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

/// Adds the parts of a word between punctuation marks, and the marks, without accents.
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

/// Tells whether a character is a blank for BERT.
fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r') || (!c.is_ascii() && c.general_category() == GeneralCategory::SpaceSeparator)
}

/// Tells whether a character is dropped: controls, format characters, unassigned ones, and the replacement character.
fn is_invisible(c: char) -> bool {
    match c.is_ascii() {
        true => c.is_ascii_control(),
        false => c == '\u{fffd}' || c.general_category_group() == GeneralCategoryGroup::Other,
    }
}

/// Tells whether a character is an accent of the character before it.
fn is_accent(c: char) -> bool {
    !c.is_ascii() && c.general_category() == GeneralCategory::NonspacingMark
}

/// Tells whether a character is punctuation. In ASCII every visible character is that is neither letter nor digit.
fn is_punctuation(c: char) -> bool {
    match c.is_ascii() {
        true => c.is_ascii_punctuation(),
        false => c.general_category_group() == GeneralCategoryGroup::Punctuation,
    }
}

/// Tells whether a character is in one of the blocks of ideographs that BERT's tokenizer knows. Kana and hangul are
/// not.
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
