//! First words of comments, and the length of their sentences.

use super::sources::House;
use crate::pages::{MOST_WORDS, OPENERS};

/// Participles that leave the thing unnamed. Other words on -ed are in [`is_participle`].
const PARTICIPLES: [&str; 14] = [
    "Told", "Seen", "Held", "Made", "Said", "Found", "Kept", "Sent", "Given", "Taken", "Known", "Written", "Shown",
    "Meant",
];
/// Words on -ed that are no participles, or that begin the name of a thing.
const NAMES: [&str; 8] = ["Need", "Speed", "Feed", "Seed", "Red", "Shared", "Weighted", "Fixed"];

/// A paragraph that begins a comment.
struct Opening {
    /// The number of its first line.
    line: usize,
    text: String,
}

/// The first paragraph of each comment of a text. Lists, tables and code end it.
fn openings(text: &str) -> Vec<Opening> {
    let mut openings: Vec<Opening> = Vec::new();
    // The mark of the comment that goes on, and true while its first paragraph does.
    let mut open: Option<(&str, bool)> = None;
    for (at, line) in text.lines().enumerate() {
        let line = line.trim_start();
        let Some(mark) = ["///", "//!", "//"].into_iter().find(|mark| line.starts_with(mark)) else {
            open = None;
            continue;
        };
        let content = &line[mark.len()..];
        let is_new = open.is_none_or(|(before, _)| before != mark);
        let is_text = content.strip_prefix(' ').is_some_and(is_prose);
        match (is_new, is_text, openings.last_mut()) {
            (true, true, _) => openings.push(Opening { line: at + 1, text: content.trim().to_owned() }),
            (false, true, Some(last)) if open.is_some_and(|(_, goes_on)| goes_on) => {
                last.text.push(' ');
                last.text.push_str(content.trim());
            }
            _ => {}
        }
        open = Some((mark, is_text && (is_new || open.is_some_and(|(_, goes_on)| goes_on))));
    }
    openings
}

/// Returns true for a line that is no part of a list, a table, a heading or code.
fn is_prose(line: &str) -> bool {
    line.starts_with(|c: char| !" -*|#>".contains(c)) && !line.starts_with("```")
}

fn is_participle(word: &str) -> bool {
    let is_regular = word.len() > 4 && word.ends_with("ed") && word.starts_with(|c: char| c.is_ascii_uppercase());
    PARTICIPLES.contains(&word)
        || (is_regular && word.chars().all(|c| c.is_ascii_alphabetic()) && !NAMES.contains(&word))
}

/// Comments whose first word leaves the thing unnamed.
pub(crate) fn unnamed(house: &House) -> Vec<String> {
    each(house, |text| {
        let first = text.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
        OPENERS.contains(&first) || is_participle(first)
    })
}

/// Comments whose first paragraph has a sentence of too many words.
pub(crate) fn long_sentences(house: &House) -> Vec<String> {
    let word_count =
        |sentence: &str| sentence.split_whitespace().filter(|word| word.contains(char::is_alphanumeric)).count();
    let ends = |text: &str| text.replace("; ", ". ").replace(": ", ". ");
    each(house, |text| ends(text).split(". ").any(|sentence| word_count(sentence) > MOST_WORDS))
}

fn each(house: &House, is_fault: impl Fn(&str) -> bool) -> Vec<String> {
    let of_file = |(path, source): (&String, &super::sources::Source)| -> Vec<String> {
        let faults = openings(&source.text).into_iter().filter(|opening| is_fault(&opening.text));
        faults.map(|opening| format!("{path}:{}: {}", opening.line, opening.text)).collect()
    };
    house.sources.iter().flat_map(of_file).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_paragraph_of_each_comment_is_read() {
        let first = "/// One\n/// two.\n///\n/// What three.\n// - list\na();\n";
        let text = format!("{first}    //! Four:\n    //! | table |\n// Five\n");
        let paragraphs: Vec<(usize, String)> = openings(&text).into_iter().map(|one| (one.line, one.text)).collect();
        let expected = [(1, "One two."), (7, "Four:"), (9, "Five")];
        assert_eq!(paragraphs, expected.map(|(line, text)| (line, text.to_owned())));
    }

    #[test]
    fn comments_that_leave_the_thing_unnamed_are_found() {
        let of =
            |comment: &str| unnamed(&House::made_up(&[("a/src/lib.rs", &format!("/// {comment}\nfn a() {{}}\n"))]));
        for bad in ["What a run is.", "Whether it is.", "Told by the node.", "Rounded up.", "None: nothing is there."] {
            assert_eq!(of(bad).len(), 1, "{bad}");
        }
        for good in
            ["Rate of the run, samples per second.", "Speed of a link.", "Shared memory.", "Returns what is there."]
        {
            assert!(of(good).is_empty(), "{good}");
        }
    }

    #[test]
    fn sentences_of_too_many_words_are_found() {
        let of = |n_words: usize| format!("/// {}.\nfn a() {{}}\n", vec!["word"; n_words].join(" "));
        let count = |n_words| long_sentences(&House::made_up(&[("a/src/lib.rs", &of(n_words))])).len();
        assert_eq!([count(MOST_WORDS), count(MOST_WORDS + 1)], [0, 1]);
    }
}
