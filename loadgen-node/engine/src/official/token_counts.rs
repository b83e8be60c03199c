//! The official accuracy log, of which only the counts of tokens are read.

use std::collections::BTreeMap;
use std::io;

use serde::Deserialize;

use super::error::LogError;

/// The name of the file.
pub const ACCURACY_FILE: &str = "mlperf_log_accuracy.json";

/// How many tokens each logged sample had, by its sequence number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TokenCounts(pub(super) BTreeMap<u64, i64>);

#[derive(Deserialize)]
struct Answer {
    seq_id: u64,
    token_count: Option<i64>,
}

impl TokenCounts {
    /// Reads the lines of the file: each answer stands on one of its own.
    ///
    /// # Errors
    /// It cannot be read, or a line is not of the official form.
    pub fn read(lines: impl Iterator<Item = io::Result<String>>) -> Result<TokenCounts, LogError> {
        let mut counts = TokenCounts::default();
        for (index, line) in lines.enumerate() {
            let broken = |why: String| LogError::new(ACCURACY_FILE, index + 1, why);
            let line = line.map_err(|error| broken(error.to_string()))?;
            let entry = line.trim().trim_start_matches('[').trim_end_matches([',', ']']).trim();
            if entry.is_empty() {
                continue;
            }
            let answer: Answer = serde_json::from_str(entry).map_err(|error| broken(error.to_string()))?;
            counts.0.extend(answer.token_count.map(|count| (answer.seq_id, count)));
        }
        Ok(counts)
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
        let told = TokenCounts::read(text.replace("\"data\" : \"\" }", "").as_bytes().lines()).unwrap_err().to_string();
        assert!(told.starts_with("mlperf_log_accuracy.json, line 3: "), "{told}");
    }
}
