//! Texts that come from nodes, made fit to be shown and kept: on one line, without control characters, not endless.

/// Characters kept of any text from a node.
const MAX_CHARS: usize = 500;

/// The text with control characters replaced and its end cut off if it is long.
pub(crate) fn printable(text: &str) -> String {
    let mut shown: String = text.chars().take(MAX_CHARS).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    if text.chars().nth(MAX_CHARS).is_some() {
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
        assert_eq!(printable(&"x".repeat(1 << 20)).len(), MAX_CHARS + 3);
    }
}
