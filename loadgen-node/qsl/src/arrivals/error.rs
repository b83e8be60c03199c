//! The reasons why a trace, or the text that names one, is refused.

use std::io;
use std::path::PathBuf;

/// The reasons why a file is not read as a trace of arrivals.
#[derive(Debug, thiserror::Error)]
pub enum ArrivalError {
    /// The operating system cannot read the file, or it is no regular file.
    #[error("cannot read {file}: {source}")]
    Read {
        /// The path of the file.
        file: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A line is not what its format says.
    #[error("{file}: line {line}: {reason}")]
    Line {
        /// The path of the file.
        file: PathBuf,
        /// The number of the line, counted from 1.
        line: u64,
        /// A clause that says what is wrong with the line, and the remedy.
        reason: String,
    },
    /// The trace as a whole does not suit the options.
    #[error("{file}: {reason}")]
    Trace {
        /// The path of the file.
        file: PathBuf,
        /// A clause that says what is wrong with the trace, and the remedy.
        reason: String,
    },
}

/// The error for a text that names no trace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{text}': {reason}; a trace is FILE[,format=NAME][,unit=s|ms|us|ns][,sort=yes][,fails=drop|keep]\
     [,within-second=uniform|burst|even][,window=FROM..TO][,scale=RATE][,repeat]"
)]
pub struct TraceSpecError {
    /// The text that was given.
    pub text: String,
    /// A clause that says what is wrong with it.
    pub reason: String,
}

/// A line that is refused.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct LineFault {
    /// The number of the line, counted from 1.
    pub line: u64,
    /// A clause that says what is wrong with it.
    pub reason: String,
}
