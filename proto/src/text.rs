//! Texts of others, made fit to be shown and kept: on one line, short, and with nothing in them that is not seen or
//! that makes the rest look like something else. And lists that are long, made short.
//!
//! This is done where such texts come in: where a message of the other end becomes a type of ours, and where a file
//! does. From there on they are texts like any other.

use unicode_properties::{GeneralCategory, UnicodeGeneralCategory as _};

/// The text with [hidden](is_hidden) characters replaced by U+FFFD, of any length: on one line of a file or screen.
pub fn on_one_line(text: &str) -> String {
    text.replace(is_hidden, "\u{fffd}")
}

/// The same as [`on_one_line`] for a text of several lines, which it keeps.
pub fn on_lines(text: &str) -> String {
    text.replace(|c| c != '\n' && is_hidden(c), "\u{fffd}")
}

/// The most characters that [`printable`] keeps of a text.
pub const MAX_PRINTABLE_CHARS: usize = 500;

/// The text with [hidden](is_hidden) characters replaced by U+FFFD, cut off after [`MAX_PRINTABLE_CHARS`] characters.
/// "..." stands where something was cut off.
pub fn printable(text: &str) -> String {
    printable_within(text, MAX_PRINTABLE_CHARS)
}

/// The same as [`printable`], cut off after `max_chars` characters.
pub fn printable_within(text: &str, max_chars: usize) -> String {
    let mut line: String = text.chars().take(max_chars).map(|c| if is_hidden(c) { '\u{fffd}' } else { c }).collect();
    if text.chars().nth(max_chars).is_some() {
        line.push_str("...");
    }
    line
}

/// Most of what [`few`] names one by one.
pub const FEW: usize = 8;

/// A list in a sentence, with `between` between its parts: the first eight of it, and how many there are beside them.
pub fn few(all: &[impl AsRef<str>], between: &str) -> String {
    let names: Vec<&str> = all.iter().take(FEW).map(AsRef::as_ref).collect();
    let more = all.len() - names.len();
    let behind = if more > 0 { format!("{between}and {more} more") } else { String::new() };
    names.join(between) + &behind
}

/// Returns true for a character that is not seen, or that changes how others are seen. These are control characters,
/// line and paragraph separators, formats (those that turn the direction of writing among them), and letters and marks
/// that are drawn as nothing.
pub fn is_hidden(c: char) -> bool {
    use GeneralCategory::{Control, Format, LineSeparator, ParagraphSeparator};
    let drawn_as_nothing = matches!(
        c,
        '\u{34f}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{ffa0}' | '\u{e0000}'..='\u{e0fff}'
    );
    let category = c.general_category();
    drawn_as_nothing || matches!(category, Control | Format | LineSeparator | ParagraphSeparator)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_long_list_the_first_are_named() {
        assert_eq!(few(&["a", "b"], ", "), "a, b");
        let all: Vec<String> = (1..=1_000).map(|number| number.to_string()).collect();
        assert_eq!(few(&all, ", "), "1, 2, 3, 4, 5, 6, 7, 8, and 992 more");
        assert_eq!(few(&all[..8], "; "), "1; 2; 3; 4; 5; 6; 7; 8");
    }

    #[test]
    fn what_could_forge_a_line_or_fill_a_disk_is_tamed() {
        assert_eq!(printable("plain text"), "plain text");
        assert_eq!(printable("a\nb\u{1b}[31mc"), "a\u{fffd}b\u{fffd}[31mc");
        assert_eq!(printable(&"x".repeat(1 << 20)).len(), MAX_PRINTABLE_CHARS + 3);
        let turns = "\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}\u{2066}\u{2067}\u{2068}\u{2069}\u{200e}\u{200f}\u{61c}";
        let unseen = "\u{200b}\u{200c}\u{200d}\u{feff}\u{ad}\u{2028}\u{2029}\u{2060}\u{3164}\u{fe0f}\u{e0041}";
        for hidden in turns.chars().chain(unseen.chars()) {
            assert!(is_hidden(hidden), "{hidden:?}");
            assert_eq!(printable(&format!("N1{hidden}gnp.exe")), "N1\u{fffd}gnp.exe");
        }
        assert_eq!(printable("Größe 機 ñ é"), "Größe 機 ñ é");
        assert_eq!(printable_within("abcdef", 3), "abc...");
        assert_eq!(printable_within("abc", 3), "abc");
        assert_eq!(
            (on_lines("a\n\u{202e}b\r\n"), on_one_line("a\nb")),
            ("a\n\u{fffd}b\u{fffd}\n".into(), "a\u{fffd}b".into())
        );
    }
}
