//! Texts with verdicts on standard output: in colour on a terminal, unless `NO_COLOR` is set. Files get no colours.

use std::io::{self, Write as _};

use anstyle::{AnsiColor, Style};

/// Words that begin a line, behind what stands before them, and the colour of each. The first that fits is taken.
const WORDS: [(&str, &str, AnsiColor); 5] = [
    ("Result    ", "VALID", AnsiColor::Green),
    ("Result    ", "INVALID", AnsiColor::Red),
    ("", "kept    ", AnsiColor::Green),
    ("", "broken  ", AnsiColor::Red),
    ("", "not seen", AnsiColor::Yellow),
];

/// Prints a text whose lines may begin with verdicts. That nobody reads on is no error (`| head`).
///
/// # Errors
/// Standard output cannot be written to.
pub fn print(text: &str) -> io::Result<()> {
    // An output that is no terminal gets the text without colours.
    match anstream::stdout().lock().write_all(painted(text).as_bytes()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        outcome => outcome,
    }
}

fn painted(text: &str) -> String {
    text.split_inclusive('\n').map(line).collect()
}

fn line(line: &str) -> String {
    let parts = WORDS.iter().find_map(|&(before, word, colour)| {
        let remainder = line.strip_prefix(before)?.strip_prefix(word)?;
        Some((before, word, colour, remainder))
    });
    let Some((before, word, colour, remainder)) = parts else { return line.to_owned() };
    let style = Style::new().bold().fg_color(Some(colour.into()));
    format!("{before}{style}{word}{style:#}{remainder}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        "Result    INVALID (LoadGen's own checks: VALID)\n          - INVALID\nkept      flush\nbroken    x\n";

    #[test]
    fn verdicts_alone_are_in_colour() {
        let text = painted(TEXT);
        assert!(text.starts_with("Result    \u{1b}["), "{text:?}");
        assert_eq!(text.matches("INVALID\u{1b}[0m").count(), 1, "the reason is not: {text:?}");
        assert_eq!(text.matches("\u{1b}[0m").count(), 3, "{text:?}");
        assert!(painted("Result    VALID\n").contains("\u{1b}[32m"), "{:?}", painted("Result    VALID\n"));
        assert_eq!(anstream::adapter::strip_str(&text).to_string(), TEXT, "without the colours it is the text");
    }
}
