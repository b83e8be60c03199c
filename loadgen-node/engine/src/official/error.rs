//! Why an official log cannot be used.

use thiserror::Error;

/// Error in an official log, with its place.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{file}{}: {why}", place(*.line))]
pub struct LogError {
    /// The name of the file.
    pub file: &'static str,
    /// The number of the line, from 1 on; 0 where the file as a whole is meant.
    pub line: usize,
    /// Description of the error, in words.
    pub why: String,
}

impl LogError {
    pub(super) fn new(file: &'static str, line: usize, why: impl Into<String>) -> LogError {
        LogError { file, line, why: why.into() }
    }
}

fn place(line: usize) -> String {
    if line == 0 { String::new() } else { format!(", line {line}") }
}
