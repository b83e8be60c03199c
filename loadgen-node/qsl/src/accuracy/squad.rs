//! Compares texts as SQuAD v1.1 does: without case, punctuation, articles and extra blanks.

use std::collections::HashMap;

use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory as _};

/// Returns the words that count: in lower case, without ASCII punctuation (`don't` is `dont`) and without `a`, `an`,
/// `the`.
pub fn normalise(text: &str) -> String {
    let plain: String = text.to_lowercase().chars().filter(|c| !c.is_ascii_punctuation()).collect();
    words(&without_articles(&plain)).collect::<Vec<_>>().join(" ")
}

/// Splits a text at blanks. Python, in which the official script is written, counts four control characters as blanks.
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    let is_blank = |c: char| c.is_whitespace() || matches!(c, '\u{1c}'..='\u{1f}');
    text.split(is_blank).filter(|word| !word.is_empty())
}

/// Tells whether Python takes a character for a letter or digit: not a mark, and not a symbol that looks like a letter.
fn is_letter_or_digit(c: char) -> bool {
    match c.is_ascii() {
        true => c.is_ascii_alphanumeric(),
        false => matches!(c.general_category_group(), GeneralCategoryGroup::Letter | GeneralCategoryGroup::Number),
    }
}

/// Replaces articles with blanks. A word is an article when no letter or digit touches it, so also within quotes.
fn without_articles(text: &str) -> String {
    let mut output = String::with_capacity(text.len());
    let mut tail = text;
    while !tail.is_empty() {
        let word_end = tail.find(|c: char| !is_letter_or_digit(c)).unwrap_or(tail.len());
        let (word, behind) = tail.split_at(word_end);
        output.push_str(if matches!(word, "a" | "an" | "the") { " " } else { word });
        let next = behind.find(is_letter_or_digit).unwrap_or(behind.len());
        output.push_str(&behind[..next]);
        tail = &behind[next..];
    }
    output
}

/// Tells whether a text is equal to one of the right texts.
pub fn is_exact_match(text: &str, right: &[String]) -> bool {
    let text = normalise(text);
    right.iter().any(|right| normalise(right) == text)
}

/// Returns the harmonic mean of precision and recall of words, from 0 to 1; the best one over the right texts.
pub fn f1(text: &str, right: &[String]) -> f64 {
    let text = normalise(text);
    right.iter().map(|right| f1_of_two(&text, &normalise(right))).fold(0.0, f64::max)
}

fn f1_of_two(text: &str, right: &str) -> f64 {
    let mut counts = HashMap::<&str, usize>::new();
    for word in right.split_whitespace() {
        *counts.entry(word).or_default() += 1;
    }
    let mut same = 0;
    for word in text.split_whitespace() {
        if let Some(count) = counts.get_mut(word).filter(|count| **count > 0) {
            *count -= 1;
            same += 1;
        }
    }
    if same == 0 {
        return 0.0;
    }
    let (answer_count, right_count) = (text.split_whitespace().count() as f64, right.split_whitespace().count() as f64);
    let (precision, recall) = (f64::from(same) / answer_count, f64::from(same) / right_count);
    2.0 * precision * recall / (precision + recall)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn case_punctuation_articles_and_blanks_do_not_count() {
        for (text, normal_form) in [
            ("The  Denver Broncos!", "denver broncos"),
            ("a man, a plan", "man plan"),
            ("don't", "dont"),
            ("theatre an anthem", "theatre anthem"),
            ("U.S.A.", "usa"),
            ("“the end”", "“ end”"),
            ("the", ""),
            ("Ünïcode\u{a0}x\u{1f}y", "ünïcode x y"),
            // An accent of its own is no letter; a circled letter is a sign.
            ("a\u{301} aⓐ aé", "\u{301} ⓐ aé"),
        ] {
            assert_eq!(normalise(text), normal_form, "{text}");
        }
    }

    #[test]
    fn scores_by_hand() {
        assert!(is_exact_match("the Santa Clara.", &texts(&["Levi's Stadium", "Santa Clara"])));
        assert!(!is_exact_match("Santa Clara, California", &texts(&["Santa Clara"])));
        // 2 of 3 words given are right, 2 of 2 were found: 2 * (2/3 * 1) / (2/3 + 1) = 0.8.
        assert!((f1("Santa Clara California", &texts(&["x", "Santa Clara"])) - 0.8).abs() < 1e-12);
        // A word counts as often as it is right: 1 of 2, and 1 of 3: 2 * (1/2 * 1/3) / (5/6) = 0.4.
        assert!((f1("gold gold", &texts(&["gold and silver"])) - 0.4).abs() < 1e-12);
        assert_eq!(f1("silver", &texts(&["gold"])), 0.0);
        assert_eq!(f1("", &texts(&["gold"])), 0.0);
    }
}
