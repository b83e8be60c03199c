//! ROUGE: how many words of two texts are the same (C.-Y. Lin, "ROUGE: A Package for Automatic Evaluation of
//! Summaries", 2004). Computed as the package `rouge_score` 0.1.2 does with `use_stemmer=True`, which MLPerf's scripts
//! for language models call (`language/*/evaluation.py`, `evaluate-accuracy.py`). All scores are F-measures.
//!
//! ROUGE-Lsum takes each line of a text for a sentence. The official scripts put each sentence on a line of its own
//! first, with a trained model of NLTK (see `punkt`). The other scores do not depend on it.

use std::collections::{BTreeSet, HashMap};

use super::porter;

/// The kinds of ROUGE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rouge {
    /// Counts runs of so many words: 1 for ROUGE-1, 2 for ROUGE-2.
    Words(usize),
    /// The longest common subsequence of words.
    Longest,
    /// The union of the longest common subsequences of all pairs of lines.
    LongestByLine,
}

/// Returns the F-measure of a text, from 0 to 1: the best one over the right texts.
pub fn rouge(kind: Rouge, text: &str, right: &[String]) -> f64 {
    right.iter().map(|right| of_two(kind, text, right)).fold(0.0, f64::max)
}

fn of_two(kind: Rouge, text: &str, right: &str) -> f64 {
    let mut numbers = Numbers::default();
    match kind {
        Rouge::Words(run) => same_runs(run, &numbers.of(text), &numbers.of(right)),
        Rouge::Longest => {
            let (answer, reference) = (numbers.of(text), numbers.of(right));
            let longest = table(&reference, &answer).last().and_then(|row| row.last().copied()).unwrap_or(0);
            f_measure(longest as usize, answer.len(), reference.len())
        }
        Rouge::LongestByLine => {
            let mut lines = |text: &str| -> Vec<Vec<u32>> { text.split('\n').map(|line| numbers.of(line)).collect() };
            let (answer, reference) = (lines(text), lines(right));
            same_by_line(&answer, &reference)
        }
    }
}

/// Numbers that stand for words, so that comparing is quick.
#[derive(Default)]
struct Numbers(HashMap<String, u32>);

impl Numbers {
    /// Returns the words of a text: runs of ASCII letters and digits in lower case. Those of more than three characters
    /// are stemmed.
    fn of(&mut self, text: &str) -> Vec<u32> {
        let lower = text.to_lowercase();
        let words = lower.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
        let stems = words.map(|word| if word.len() > 3 { porter::stem(word) } else { word.to_owned() });
        let mut number = |stem: String| {
            let next = self.0.len() as u32;
            *self.0.entry(stem).or_insert(next)
        };
        stems.map(&mut number).collect()
    }
}

/// The harmonic mean of precision and recall.
fn f_measure(same: usize, answer_count: usize, reference_count: usize) -> f64 {
    if same == 0 {
        return 0.0;
    }
    let (precision, recall) = (same as f64 / answer_count as f64, same as f64 / reference_count as f64);
    2.0 * precision * recall / (precision + recall)
}

/// Compares runs of words; one counts as often as both texts have it.
fn same_runs(run: usize, answer: &[u32], reference: &[u32]) -> f64 {
    let mut counts = HashMap::<&[u32], usize>::new();
    for words in reference.windows(run) {
        *counts.entry(words).or_default() += 1;
    }
    let mut same = 0;
    for words in answer.windows(run) {
        if let Some(count) = counts.get_mut(words).filter(|count| **count > 0) {
            *count -= 1;
            same += 1;
        }
    }
    f_measure(same, answer.windows(run).len(), reference.windows(run).len())
}

/// The lengths of the longest common subsequences of all beginnings of both.
fn table(reference: &[u32], answer: &[u32]) -> Vec<Vec<u32>> {
    let mut rows = vec![vec![0; answer.len() + 1]];
    for word in reference {
        let above = &rows[rows.len() - 1];
        let mut row = vec![0; answer.len() + 1];
        for (place, other) in answer.iter().enumerate() {
            row[place + 1] = if word == other { above[place] + 1 } else { row[place].max(above[place + 1]) };
        }
        rows.push(row);
    }
    rows
}

/// Adds the places in `reference` of one longest common subsequence. Which one it is, where there are several, is that
/// of `rouge_score`.
fn add_places(places: &mut BTreeSet<usize>, reference: &[u32], answer: &[u32]) {
    let table = table(reference, answer);
    let (mut i, mut j) = (reference.len(), answer.len());
    while i > 0 && j > 0 {
        if reference[i - 1] == answer[j - 1] {
            (i, j) = (i - 1, j - 1);
            places.insert(i);
        } else if table[i][j - 1] > table[i - 1][j] {
            j -= 1;
        } else {
            i -= 1;
        }
    }
}

/// ROUGE-Lsum: a word counts at most as often as both texts have it.
fn same_by_line(answer: &[Vec<u32>], reference: &[Vec<u32>]) -> f64 {
    let counts = |lines: &[Vec<u32>]| {
        let mut counts = HashMap::<u32, usize>::new();
        lines.iter().flatten().for_each(|word| *counts.entry(*word).or_default() += 1);
        counts
    };
    // Both texts have at least as many of a word as are counted of it.
    let (answer_counts, mut shared) = (counts(answer), counts(reference));
    for (word, count) in &mut shared {
        *count = (*count).min(answer_counts.get(word).copied().unwrap_or(0));
    }
    let mut same = 0;
    for line in reference {
        let mut places = BTreeSet::new();
        answer.iter().for_each(|other| add_places(&mut places, line, other));
        for place in places {
            if let Some(count) = shared.get_mut(&line[place]).filter(|count| **count > 0) {
                *count -= 1;
                same += 1;
            }
        }
    }
    let word_count = |lines: &[Vec<u32>]| lines.iter().map(Vec::len).sum();
    f_measure(same, word_count(answer), word_count(reference))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(kind: Rouge, text: &str, right: &str, expected: f64) {
        let value = rouge(kind, text, &[right.to_owned()]);
        assert!((value - expected).abs() < 1e-12, "{kind:?} of '{text}' and '{right}' is {value}");
    }

    #[test]
    fn scores_by_hand() {
        // 3 of 3 words given, 3 of 4 wanted; 1 of 2 pairs and 1 of 3; of the words in order two are the same.
        let (text, right) = ("Cats, the RUNNING", "the running of cats");
        close(Rouge::Words(1), text, right, 6.0 / 7.0);
        close(Rouge::Words(2), text, right, 0.4);
        close(Rouge::Longest, text, right, 4.0 / 7.0);
        // Line by line the order of lines does not matter.
        close(Rouge::LongestByLine, "c d\na b", "a b\nc d", 1.0);
        close(Rouge::Longest, "c d\na b", "a b\nc d", 0.5);
    }

    #[test]
    fn nothing_is_the_same_as_nothing() {
        for kind in [Rouge::Words(1), Rouge::Words(2), Rouge::Longest, Rouge::LongestByLine] {
            close(kind, "", "", 0.0);
            close(kind, "...", "word", 0.0);
            close(kind, "word", "\n\n", 0.0);
        }
        close(Rouge::Words(2), "word", "word", 0.0);
    }
}
