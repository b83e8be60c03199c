//! From a text to its sentences, as the package `nltk` does (T. Kiss and J. Strunk, "Unsupervised Multilingual Sentence
//! Boundary Detection", 2006). MLPerf's scripts for language models put each sentence on a line of its own with it,
//! before they compute ROUGE-Lsum and count characters.
//!
//! The model is what `nltk` has learned of a language. It is not part of this program: it is read from the folder
//! `punkt_tab/english` of NLTK's data. Decimal digits are those of ASCII.

use std::collections::{HashMap, HashSet};

use super::words::{self, Word, is_space};

/// Bits of what is known of a word: how it was written at the beginning of sentences and elsewhere.
const BEGINS_UPPER: u32 = 1 << 1;
const INSIDE_UPPER: u32 = 1 << 2;
const UNKNOWN_UPPER: u32 = 1 << 3;
const BEGINS_LOWER: u32 = 1 << 4;
const INSIDE_LOWER: u32 = 1 << 5;
const UNKNOWN_LOWER: u32 = 1 << 6;
const UPPER: u32 = BEGINS_UPPER | INSIDE_UPPER | UNKNOWN_UPPER;
const LOWER: u32 = BEGINS_LOWER | INSIDE_LOWER | UNKNOWN_LOWER;

/// The names of the model's files.
pub(crate) const FILES: [&str; 4] = ["abbrev_types.txt", "collocations.tab", "sent_starters.txt", "ortho_context.tab"];

/// The model of the sentences of a language.
#[derive(Debug, Default)]
pub struct Sentences {
    /// Words that a period may follow inside of a sentence.
    abbreviations: HashSet<String>,
    /// Pairs of words with a period between them that ends no sentence.
    collocations: HashSet<(String, String)>,
    /// Words that often begin a sentence.
    starters: HashSet<String>,
    /// For each word the bits of how it was written.
    spellings: HashMap<String, u32>,
}

/// A word, and what it was taken for.
struct Token {
    word: Word,
    ends: bool,
    is_abbreviation: bool,
    is_ellipsis: bool,
}

/// A place where a sentence may end.
struct Candidate {
    /// The place behind its last character.
    end: usize,
    /// Where the next word begins, when blanks are between.
    next: Option<usize>,
    /// The word before, and what follows at once.
    context: String,
}

impl Sentences {
    /// Reads the texts of the files `abbrev_types.txt`, `collocations.tab`, `sent_starters.txt` and
    /// `ortho_context.tab`, in that order.
    ///
    /// # Errors
    /// A line is none of such a file; the error is a clause that says which.
    pub fn of_files(texts: [&str; 4]) -> Result<Sentences, String> {
        let [abbreviations, collocations, starters, spelling_lines] = texts;
        let lines_of = |text: &str| text.lines().map(str::to_owned).collect();
        let pair = |file: usize, line: &'_ str| -> Result<(String, String), String> {
            let (one, other) =
                line.split_once('\t').ok_or_else(|| format!("{}: '{line}' is no pair with a tab", FILES[file]))?;
            Ok((one.to_owned(), other.to_owned()))
        };
        let bits = |line: &str| {
            let (word, bits) = pair(3, line)?;
            let bits = bits.parse().map_err(|_| format!("{}: '{bits}' is no number", FILES[3]))?;
            Ok((word, bits))
        };
        Ok(Sentences {
            abbreviations: lines_of(abbreviations),
            collocations: collocations.lines().map(|line| pair(1, line)).collect::<Result<_, _>>()?,
            starters: lines_of(starters),
            spellings: spelling_lines.lines().map(bits).collect::<Result<_, String>>()?,
        })
    }

    /// Returns the text without blanks at its ends, each of its sentences on a line of its own.
    pub fn lines(&self, text: &str) -> String {
        let text: Vec<char> = text.trim_matches(is_space).chars().collect();
        let sentences = self.realigned(&text, &self.slices(&text));
        let sentences: Vec<String> = sentences.into_iter().map(|(from, to)| text[from..to].iter().collect()).collect();
        sentences.join("\n")
    }

    /// Returns the places of all sentences, where each ends with its period.
    fn slices(&self, text: &[char]) -> Vec<(usize, usize)> {
        let (mut slices, mut last) = (Vec::new(), 0);
        for Candidate { end, next, context } in candidates(text) {
            if self.has_end(&context) {
                slices.push((last, end));
                last = next.unwrap_or(end);
            }
        }
        let end = text.iter().rposition(|c| !is_space(*c)).map_or(0, |place| place + 1);
        slices.push((last, end.max(last)));
        slices
    }

    /// Gives closing quotes and brackets that follow a period to the sentence before.
    fn realigned(&self, text: &[char], slices: &[(usize, usize)]) -> Vec<(usize, usize)> {
        let (mut sentences, mut moved) = (Vec::new(), 0);
        for (place, (from, to)) in slices.iter().copied().enumerate() {
            let from = from + moved;
            moved = 0;
            if let Some((next, end)) = slices.get(place + 1).copied()
                && let Some((closers, length)) = closing(&text[next..end])
            {
                sentences.push((from, next + closers));
                moved = length;
            } else if from < to {
                sentences.push((from, to));
            }
        }
        sentences
    }

    /// Returns true when a sentence ends before the last word.
    fn has_end(&self, context: &str) -> bool {
        let mut tokens: Vec<Token> = words::of_text(context).into_iter().map(|word| self.first_pass(word)).collect();
        for place in 1..tokens.len() {
            let (before, behind) = tokens.split_at_mut(place);
            if let (Some(token), Some(next)) = (before.last_mut(), behind.first()) {
                self.second_pass(token, next);
            }
        }
        tokens.iter().rev().skip(1).any(|token| token.ends)
    }

    /// Takes a word for what it looks like alone.
    fn first_pass(&self, word: Word) -> Token {
        let mut token = Token { ends: false, is_abbreviation: false, is_ellipsis: word.is_ellipsis(), word };
        let text = token.word.text.as_str();
        if matches!(text, "." | "?" | "!") {
            token.ends = true;
        } else if token.is_ellipsis {
            // It ends nothing by itself.
        } else if let Some(bare) = text.strip_suffix('.').filter(|bare| !bare.ends_with('.')) {
            let bare = bare.to_lowercase();
            let last = bare.rsplit('-').next().unwrap_or_default();
            token.is_abbreviation = self.abbreviations.contains(&bare) || self.abbreviations.contains(last);
            token.ends = !token.is_abbreviation;
        }
        token
    }

    /// Takes a word with a period for what it is before the next one.
    fn second_pass(&self, token: &mut Token, next: &Token) {
        if !token.word.text.ends_with('.') {
            return;
        }
        let kind = token.word.kind_without_period();
        let next_kind = next.kind();
        let is_initial = token.word.is_initial();
        if self.collocations.contains(&(kind.to_owned(), next_kind.to_owned())) {
            (token.ends, token.is_abbreviation) = (false, true);
            return;
        }
        let is_upper = next.word.text.starts_with(char::is_uppercase);
        if (token.is_abbreviation || token.is_ellipsis) && !is_initial {
            let begins = self.begins_sentence(next) == Some(true);
            if begins || (is_upper && self.starters.contains(next_kind)) {
                token.ends = true;
                return;
            }
        }
        if !is_initial && kind != words::NUMBER {
            return;
        }
        let begins = self.begins_sentence(next);
        let is_name = begins.is_none() && is_initial && is_upper && self.spelling(next_kind) & LOWER == 0;
        if begins == Some(false) || is_name {
            (token.ends, token.is_abbreviation) = (false, true);
        }
    }

    fn spelling(&self, kind: &str) -> u32 {
        self.spellings.get(kind).copied().unwrap_or(0)
    }

    /// Returns true when the spelling of a word shows that it begins a sentence, and false when it shows that it does
    /// not. `None` when the spelling shows neither.
    fn begins_sentence(&self, token: &Token) -> Option<bool> {
        let text = token.word.text.as_str();
        if matches!(text, ";" | ":" | "," | "." | "!" | "?") {
            return Some(false);
        }
        let spelling = self.spelling(token.kind());
        if text.starts_with(char::is_uppercase) && spelling & LOWER != 0 && spelling & INSIDE_UPPER == 0 {
            return Some(true);
        }
        let is_lower = text.starts_with(char::is_lowercase);
        (is_lower && (spelling & UPPER != 0 || spelling & BEGINS_LOWER == 0)).then_some(false)
    }
}

impl Token {
    /// The kind of the word, without its period where that ends a sentence.
    fn kind(&self) -> &str {
        if self.ends { self.word.kind_without_period() } else { &self.word.kind }
    }
}

/// Returns all places where a sentence may end. Of several in one word the last counts.
fn candidates(text: &[char]) -> Vec<Candidate> {
    let mut places: Vec<Candidate> = Vec::new();
    // The word before the last place, as far as it is known.
    let (mut before, mut pending): ((usize, usize), Option<Candidate>) = ((0, 0), None);
    for (place, c) in text.iter().enumerate() {
        if !matches!(c, '.' | '?' | '!') {
            continue;
        }
        let Some((after, next)) = follows(text, place + 1) else { continue };
        let blank = text[before.1..place].iter().rposition(|c| c.is_ascii_whitespace() || *c == '\x0b');
        let from = match blank {
            Some(blank) if blank > 0 => before.1 + blank + 1,
            _ => before.0,
        };
        if before.1 <= from {
            places.extend(pending.take());
        }
        before = (from, place);
        let context = text[from..after].iter().collect();
        pending = Some(Candidate { end: place + 1, next, context });
    }
    places.extend(pending);
    places
}

/// Returns the place behind the text that follows a period. With blanks behind the period, it also returns the place
/// where the next word begins. `None` when the following text is part of the word, or there is none.
fn follows(text: &[char], from: usize) -> Option<(usize, Option<usize>)> {
    let tail = &text[from..];
    if words::is_outside(*tail.first()?) {
        return Some((from + 1, None));
    }
    let next = tail.iter().position(|c| !is_space(*c)).filter(|blanks| *blanks > 0)?;
    let length = tail[next..].iter().position(|c| is_space(*c)).unwrap_or(tail.len() - next);
    Some((from + next + length, Some(from + next)))
}

/// The number of closing quotes and brackets with which a sentence begins, and of these and the blanks behind. None: it
/// begins with a word.
fn closing(sentence: &[char]) -> Option<(usize, usize)> {
    let count = sentence.iter().position(|c| !matches!(c, '"' | '\'' | ')' | ']' | '}')).unwrap_or(sentence.len());
    if count == 0 {
        return None;
    }
    let tail = &sentence[count..];
    let blanks = tail.iter().position(|c| !is_space(*c)).unwrap_or(tail.len());
    let is_closed = blanks > 0 || tail.is_empty() || tail.starts_with(&['-', '-']);
    is_closed.then_some((count, count + blanks))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> String {
        let files = ["dr\ni.e\n", "s.\tbach\n", "the\n", "the\t18\nhe\t18\nsmith\t4\n"];
        Sentences::of_files(files).unwrap().lines(text)
    }

    #[test]
    fn sentences_by_hand() {
        for (text, expected) in [
            ("  One. Two.\n\nThree!  ", "One.\nTwo.\nThree!"),
            ("Dr. Smith came. He left.", "Dr. Smith came.\nHe left."),
            ("(He came.) The end.", "(He came.)\nThe end."),
            ("He said \"no.\" The end", "He said \"no.\"\nThe end"),
            ("J. Smith and S. Bach. The 3. of May", "J. Smith and S. Bach.\nThe 3. of May"),
            ("What?! No", "What?!\nNo"),
            ("a.(b", "a.\n(b"),
            ("", ""),
        ] {
            assert_eq!(lines(text), expected, "{text}");
        }
    }

    #[test]
    fn files_that_are_none() {
        let fault = |files| Sentences::of_files(files).unwrap_err();
        assert!(fault(["", "a b\n", "", ""]).contains("collocations.tab: 'a b'"));
        assert!(fault(["", "", "", "a\tb\n"]).contains("ortho_context.tab: 'b'"));
    }
}
