//! BLEU: how many runs of one to four words a translation shares with the right ones, over all samples together.
//!
//! [`Style::Sacre`] is the score of the package `sacrebleu` with its usual settings, whose signature is
//! `case:mixed|eff:no|tok:13a|smooth:exp`. Capitals count, tokens are those of tokenizer 13a, and four lengths of runs
//! count always. The first length without a match counts as half of one match, the next as a quarter, and so on. Of
//! several right texts of a sample, the nearest length counts for the penalty of brevity, of two as near the shorter. A
//! run may be in any of the right texts.
//!
//! [`Style::Words`] is the score that the reference implementation of round v0.5 prints
//! (`translation/gnmt/tensorflow/process_accuracy.py`). A blank is the end of a word, and two blanks have an empty word
//! between them. `@@ ` in the right texts joins parts of words. Without a match of some length the score is 0. Of
//! several right texts the shortest counts for the penalty of brevity.

use std::collections::HashMap;

use super::tokens_13a;
use super::words::is_space;

/// The longest run of words that counts.
const LONGEST: usize = 4;

/// A way to find words and to count them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// The way of `sacrebleu` with its usual settings.
    Sacre,
    /// The way of the script of round v0.5.
    Words,
}

/// The counts of a translation, or the sums of several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// The number of runs that a right text has too, by their length from one word on.
    matches: [u64; LONGEST],
    /// The number of runs, by their length.
    runs: [u64; LONGEST],
    /// The number of words of the translation.
    answer_words: u64,
    /// The number of words of the right text by which the length is judged.
    right_words: u64,
}

impl Counts {
    /// Counts one translation against its right texts.
    pub fn of(style: Style, text: &str, right: &[String]) -> Counts {
        let (text, right): (String, Vec<String>) = match style {
            Style::Sacre => (tokens_13a::tokens(text), right.iter().map(|text| tokens_13a::tokens(text)).collect()),
            Style::Words => {
                (text.to_owned(), right.iter().map(|text| text.trim_matches(is_space).replace("@@ ", "")).collect())
            }
        };
        let (answer, right): (_, Vec<_>) = (style.words(&text), right.iter().map(|text| style.words(text)).collect());
        let lengths = right.iter().map(Vec::len);
        let right_length = match style {
            Style::Sacre => lengths.min_by_key(|length| (length.abs_diff(answer.len()), *length)),
            Style::Words => lengths.min(),
        };
        let mut counts = Counts {
            answer_words: answer.len() as u64,
            right_words: right_length.unwrap_or(0) as u64,
            ..Counts::default()
        };
        for length in 1..=LONGEST {
            let mut right_counts = HashMap::new();
            for (run, count) in right.iter().flat_map(|words| runs(words, length)) {
                let most: &mut u64 = right_counts.entry(run).or_default();
                *most = count.max(*most);
            }
            for (run, count) in runs(&answer, length) {
                counts.runs[length - 1] += count;
                counts.matches[length - 1] += count.min(right_counts.get(run).copied().unwrap_or(0));
            }
        }
        counts
    }

    fn plus(mut self, other: &Counts) -> Counts {
        for at in 0..LONGEST {
            self.matches[at] += other.matches[at];
            self.runs[at] += other.runs[at];
        }
        Counts {
            answer_words: self.answer_words + other.answer_words,
            right_words: self.right_words + other.right_words,
            ..self
        }
    }
}

impl Style {
    fn words(self, text: &str) -> Vec<&str> {
        match self {
            Style::Sacre => text.split_whitespace().collect(),
            Style::Words => text.split(' ').collect(),
        }
    }

    /// Returns the score of all translations together, from 0 to 1.
    pub fn score(self, all: &[Counts]) -> f64 {
        let sum = all.iter().fold(Counts::default(), Counts::plus);
        if sum.matches == [0; LONGEST] {
            return 0.0;
        }
        let mut smoothed = 1.0;
        let precision = |(matches, runs): (&u64, &u64)| match (self, *matches, *runs) {
            (_, _, 0) | (Style::Words, 0, _) => 0.0,
            (Style::Sacre, 0, runs) => {
                smoothed *= 2.0;
                1.0 / (smoothed * runs as f64)
            }
            (_, matches, runs) => matches as f64 / runs as f64,
        };
        let logs: f64 = sum.matches.iter().zip(&sum.runs).map(precision).map(f64::ln).sum();
        // Without a precision the sum is minus infinity, and the score 0.
        let penalty = if sum.answer_words < sum.right_words {
            (1.0 - sum.right_words as f64 / sum.answer_words as f64).exp()
        } else {
            1.0
        };
        penalty * (logs / LONGEST as f64).exp()
    }
}

/// Returns the runs of so many words, and how often each is there.
fn runs<'a, 't>(words: &'a [&'t str], length: usize) -> HashMap<&'a [&'t str], u64> {
    let mut counts = HashMap::new();
    for run in words.windows(length) {
        *counts.entry(run).or_default() += 1;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn score(style: Style, pairs: &[(&str, &[&str])]) -> f64 {
        let count = |(text, right): &(&str, &[&str])| {
            Counts::of(style, text, &right.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>())
        };
        100.0 * style.score(&pairs.iter().map(count).collect::<Vec<_>>())
    }

    fn close(value: f64, expected: f64) {
        assert!((value - expected).abs() < 1e-9, "{value} is not {expected}");
    }

    #[test]
    fn scores_by_hand() {
        for style in [Style::Sacre, Style::Words] {
            close(score(style, &[("a b c d", &["a b c d"])]), 100.0);
            // 4 of 5 words, 3 of 4 pairs, 2 of 3 and 1 of 2.
            close(score(style, &[("a b c d x", &["a b c d e"])]), 100.0 * 0.2_f64.powf(0.25));
            // The penalty of brevity for 4 of 8 words.
            close(score(style, &[("a b c d", &["a b c d e f g h"])]), 100.0 * (-1.0_f64).exp());
            // All samples together: 5 of 6 words, 3 of 4, 2 of 2, 1 of 1.
            close(score(style, &[("a b c d", &["a b c d"]), ("x y", &["x z"])]), 100.0 * (5.0 / 8.0_f64).powf(0.25));
            // A word counts as often as a right text has it.
            close(score(style, &[("a a a a a", &["a a", "a a a"])]), score(style, &[("a a a a a", &["a a a"])]));
        }
    }

    #[test]
    fn the_two_styles_differ() {
        // 3 of 4 words, 1 of 3 pairs; 2 and 1 runs without a match count as 1/2 and 1/4.
        let smoothed = [("a b x d", &["a b c d"][..])];
        close(score(Style::Sacre, &smoothed), 100.0 * (0.75 / 3.0 / 4.0 / 4.0_f64).powf(0.25));
        close(score(Style::Words, &smoothed), 0.0);
        close(score(Style::Sacre, &[("end of it.", &["end of it ."])]), 100.0);
        close(score(Style::Words, &[("end of it.", &["end of it ."])]), 0.0);
        close(score(Style::Words, &[("Haus tür auf gehen", &["Haus tü@@ r auf gehen\n"])]), 100.0);
        // Nearest for one, shortest for the other: 6 words against 4 and 7.
        let lengths = [("a b c d e f", &["a b c d", "a b c d e f g"][..])];
        close(score(Style::Sacre, &lengths), 100.0 * (1.0 - 7.0 / 6.0_f64).exp());
        close(score(Style::Words, &lengths), 100.0);
        // As near: the shorter one.
        close(score(Style::Sacre, &[("a b c d e", &["a b c d e f", "a b c d"])]), 100.0);
    }

    #[test]
    fn short_and_empty_texts() {
        for style in [Style::Sacre, Style::Words] {
            // Single words have no pairs.
            close(score(style, &[("a", &["a"]), ("b", &["b"])]), 0.0);
            close(score(style, &[("", &["a b c d"])]), 0.0);
            close(score(style, &[("x", &["a"])]), 0.0);
            close(score(style, &[]), 0.0);
        }
        close(score(Style::Sacre, &[("", &[""])]), 0.0);
        close(score(Style::Sacre, &[("", &["x"]), ("a b c d", &["a b c d"])]), 100.0 * (-0.25_f64).exp());
        // An empty text is one empty word.
        close(score(Style::Words, &[("", &["x"]), ("a b c d", &["a b c d"])]), 100.0 * 0.8_f64.powf(0.25));
    }

    /// Source: `sacrebleu.corpus_bleu` of `sacrebleu` 2.6.0.
    #[test]
    fn scores_are_those_of_sacrebleu() {
        let pairs: [(&str, &[&str]); 4] = [
            ("Die Katze sitzt auf der Matte.", &["Die Katze saß auf der Matte."]),
            ("Es kostete 1,000.50 Euro, sagte er.", &["Es hat 1,000.50 Euro gekostet, sagte er."]),
            ("&quot;Ja&quot;, sagte sie", &["\"Ja\", sagte sie.", "\"Nein\", sagte sie."]),
            ("", &["Nichts"]),
        ];
        close(score(Style::Sacre, &pairs), 53.512_604_762_482_35);
    }
}
