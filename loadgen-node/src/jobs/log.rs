//! The log of a command that came to nothing: its reason.

use std::path::Path;

use lon_proto::files::{self, Limit};
use lon_proto::text::on_one_line;

/// The words of our programs before an error.
const ERRORS: [&str; 2] = ["loadgen-node: ", "sut-node: "];

/// The error that a log ends with, else its last line.
pub(crate) fn last_words(log: &Path) -> String {
    let text = files::text(log, Limit::LOG).unwrap_or_default();
    let lines = || text.lines().rev().filter(|line| !line.trim().is_empty());
    let error = lines().find_map(|line| ERRORS.into_iter().find_map(|program| line.strip_prefix(program)));
    let last = error.or_else(|| lines().next());
    last.map_or_else(|| format!("it said nothing; its log is {}", log.display()), on_one_line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_is_the_error_of_a_log() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("1.log");
        assert!(last_words(&log).contains("it said nothing"));
        std::fs::write(&log, "INFO a\nloadgen-node: no node\nWARN b\n\n").unwrap();
        assert_eq!(last_words(&log), "no node");
        std::fs::write(&log, "INFO a\nWARN b\n").unwrap();
        assert_eq!(last_words(&log), "WARN b");
    }
}
