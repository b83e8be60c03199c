//! The words of a text, as the package `nltk` finds them before it looks for the ends of sentences (`punkt`).

/// Stands for all numbers.
pub(super) const NUMBER: &str = "##number##";

/// A word, or a mark between words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Word {
    /// As it stands in the text.
    pub(super) text: String,
    /// In lower case; [`NUMBER`] for all numbers.
    pub(super) kind: String,
}

impl Word {
    fn new(text: &[char]) -> Word {
        let text: String = text.iter().collect();
        let lower = text.to_lowercase();
        let kind = if is_number(&lower) { NUMBER.to_owned() } else { lower };
        Word { text, kind }
    }

    /// The kind without a period at its end.
    pub(super) fn kind_without_period(&self) -> &str {
        self.kind.strip_suffix('.').filter(|bare| !bare.is_empty()).unwrap_or(&self.kind)
    }

    /// Returns true when the word is two periods or more.
    pub(super) fn is_ellipsis(&self) -> bool {
        self.text.len() > 1 && self.text.bytes().all(|byte| byte == b'.')
    }

    /// Returns true when the word is a letter with a period.
    pub(super) fn is_initial(&self) -> bool {
        let mut chars = self.text.chars();
        let is_letter = |c: char| (c.is_alphanumeric() || c == '_') && !c.is_ascii_digit();
        chars.next().is_some_and(is_letter) && chars.as_str() == "."
    }
}

/// `-`, then a period or comma, then digits with periods, commas and minus signs among them.
fn is_number(text: &str) -> bool {
    let text = text.strip_prefix('-').unwrap_or(text);
    let text = text.strip_prefix(['.', ',']).unwrap_or(text);
    text.starts_with(|c: char| c.is_ascii_digit())
        && text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b',' | b'.' | b'-'))
}

/// Returns true for a character that Python takes for a blank.
pub(super) fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\x1c'..='\x1f').contains(&c)
}

/// Returns true for a character that is no part of a word, at any place.
pub(super) fn is_outside(c: char) -> bool {
    ")\";}]*:@'({[?!".contains(c)
}

/// Returns the words of a text, line by line.
pub(super) fn of_text(text: &str) -> Vec<Word> {
    text.split('\n').flat_map(of_line).collect()
}

fn of_line(line: &str) -> Vec<Word> {
    let line: Vec<char> = line.chars().collect();
    let (mut words, mut at) = (Vec::new(), 0);
    while let Some(&c) = line.get(at) {
        if is_space(c) {
            at += 1;
            continue;
        }
        let tail = &line[at..];
        let length = match marks(tail) {
            0 if "(\"`{[:;&#*@)}]-,".contains(c) => 1,
            0 => (1..tail.len()).find(|length| ends(&tail[*length..])).unwrap_or(tail.len()),
            length => length,
        };
        words.push(Word::new(&tail[..length]));
        at += length;
    }
    words
}

/// Returns true when a word ends where `tail` follows.
fn ends(tail: &[char]) -> bool {
    match tail {
        [',', behind @ ..] => is_end(behind),
        _ => is_end(tail),
    }
}

fn is_end(tail: &[char]) -> bool {
    tail.first().is_none_or(|c| is_space(*c) || is_outside(*c)) || marks(tail) > 0
}

/// The length of a mark of several characters: hyphens, periods, or periods with a blank behind each. 0: there is none.
fn marks(tail: &[char]) -> usize {
    let run = |mark: char| tail.iter().take_while(|c| **c == mark).count();
    match [run('-'), run('.')].into_iter().find(|length| *length > 1) {
        Some(length) => length,
        None => {
            let pairs = tail.chunks_exact(2).take_while(|pair| pair[0] == '.' && is_space(pair[1])).count();
            // A last period has no blank behind it, or its blank is no part of the mark.
            match tail.get(2 * pairs) {
                Some('.') if pairs > 1 => 2 * pairs + 1,
                _ if pairs > 2 => 2 * pairs - 1,
                _ => 0,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_by_hand() {
        for (text, expected) in [
            ("Hello, world.", vec!["Hello", ",", "world."]),
            ("(a) \"b\"", vec!["(", "a", ")", "\"", "b", "\""]),
            ("x -- y...z", vec!["x", "--", "y", "...", "z"]),
            (". . . end", vec![". . .", "end"]),
            ("1,000.5 3,x", vec!["1,000.5", "3,x"]),
            ("what?!", vec!["what", "?", "!"]),
        ] {
            let words: Vec<String> = of_text(text).into_iter().map(|word| word.text).collect();
            assert_eq!(words, expected, "{text}");
        }
    }

    #[test]
    fn kinds_by_hand() {
        let kind = |text: &str| of_text(text)[0].kind.clone();
        assert_eq!([kind("The"), kind("1,000."), kind("3rd"), kind(".5")], ["the", NUMBER, "3rd", NUMBER]);
        let word = |text: &str| Word::new(&text.chars().collect::<Vec<_>>());
        assert!(word("J.").is_initial() && !word("3.").is_initial() && !word("Jo.").is_initial());
        assert!(word("...").is_ellipsis() && !word(".").is_ellipsis());
        assert_eq!((word("U.S.").kind_without_period(), word(".").kind_without_period()), ("u.s", "."));
    }
}
