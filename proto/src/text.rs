//! Texts that come from the other end, made fit to be shown and kept: on one line, without control characters, short.

/// The most characters that [`printable`] keeps of a text.
pub const MAX_PRINTABLE_CHARS: usize = 500;

/// The text with control characters replaced by U+FFFD, cut off after [`MAX_PRINTABLE_CHARS`] characters. "..." stands
/// where something was cut off.
pub fn printable(text: &str) -> String {
    printable_within(text, MAX_PRINTABLE_CHARS)
}

/// The same as [`printable`], cut off after `max_chars` characters.
pub fn printable_within(text: &str, max_chars: usize) -> String {
    let mut shown: String = text.chars().take(max_chars).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    if text.chars().nth(max_chars).is_some() {
        shown.push_str("...");
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_forge_a_line_or_fill_a_disk_is_tamed() {
        assert_eq!(printable("plain text"), "plain text");
        assert_eq!(printable("a\nb\u{1b}[31mc"), "a\u{fffd}b\u{fffd}[31mc");
        assert_eq!(printable(&"x".repeat(1 << 20)).len(), MAX_PRINTABLE_CHARS + 3);
        assert_eq!(printable_within("abcdef", 3), "abc...");
        assert_eq!(printable_within("abc", 3), "abc");
    }
}
