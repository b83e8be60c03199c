//! The official accuracy log, of which only the counts of tokens are read.

use std::collections::BTreeMap;
use std::io;

use serde::Deserialize;

use super::error::LogError;

/// The name of the file.
pub const ACCURACY_FILE: &str = "mlperf_log_accuracy.json";

/// Stands in a line of its own, between two empty ones, where the middle of the file was cut out.
const GAP: &str = "...";
/// The distance from it to the cut lines, in lines.
const BESIDE: usize = 2;
/// So many lines can the cut break, and one is a fault of its own.
const MOST_BROKEN: usize = 3;

/// Number of tokens of each logged sample, by its sequence number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TokenCounts(pub(super) BTreeMap<u64, i64>);

#[derive(Deserialize)]
struct Answer {
    seq_id: u64,
    token_count: Option<i64>,
}

impl TokenCounts {
    /// Reads the lines of the file: each answer stands on one of its own. Submissions have both ends of the file alone:
    /// then the counts between them are not there.
    ///
    /// # Errors
    /// It cannot be read, or a line is not of the official form and not beside the cut.
    pub fn read(lines: impl Iterator<Item = io::Result<String>>) -> Result<TokenCounts, LogError> {
        let (mut counts, mut cut, mut broken) = (TokenCounts::default(), None, Vec::new());
        for (number, line) in (1..).zip(lines) {
            let line = line.map_err(|error| LogError::new(ACCURACY_FILE, number, error.to_string()))?;
            let entry = line.trim().trim_start_matches('[').trim_end_matches([',', ']']).trim();
            match serde_json::from_str::<Answer>(entry) {
                _ if entry.is_empty() => {}
                _ if entry == GAP => cut = Some(number),
                Ok(answer) => counts.0.extend(answer.token_count.map(|count| (answer.seq_id, count))),
                Err(error) if broken.len() < MOST_BROKEN => {
                    broken.push(LogError::new(ACCURACY_FILE, number, error.to_string()));
                }
                Err(_) => {}
            }
        }
        let is_beside = |line: usize| cut.is_some_and(|cut| line.abs_diff(cut) <= BESIDE);
        broken.into_iter().find(|error| !is_beside(error.line)).map_or(Ok(counts), Err)
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufRead as _;

    use super::*;

    #[test]
    fn counts_are_read_and_a_broken_line_is_named() {
        let text = "[\n{ \"seq_id\" : 3, \"qsl_idx\" : 1, \"data\" : \"00\", \"token_count\" : 9 },\n\
            { \"seq_id\" : 4, \"qsl_idx\" : 1, \"data\" : \"\" }\n]\n";
        assert_eq!(TokenCounts::read(text.as_bytes().lines()).unwrap().0, BTreeMap::from([(3, 9)]));
        let message =
            TokenCounts::read(text.replace("\"data\" : \"\" }", "").as_bytes().lines()).unwrap_err().to_string();
        assert!(message.starts_with("mlperf_log_accuracy.json, line 3: "), "{message}");
    }

    #[test]
    fn a_cut_breaks_the_lines_beside_it_alone() {
        let answer =
            |seq| format!("{{ \"seq_id\" : {seq}, \"qsl_idx\" : 1, \"data\" : \"00\", \"token_count\" : 9 }},\n");
        let lines = answer(3);
        for at in 0..lines.len() {
            let text = format!("[\n{}{}\n\n...\n\n{}{}]\n", answer(2), &lines[..at], &lines[at..], answer(4));
            let counts = TokenCounts::read(text.as_bytes().lines()).unwrap().0;
            assert!(counts.contains_key(&2) && counts.contains_key(&4), "{text}");
            let broken = text.replacen(&answer(2), "{ x }\n", 1);
            assert_eq!(TokenCounts::read(broken.as_bytes().lines()).unwrap_err().line, 2, "{broken}");
        }
    }
}
