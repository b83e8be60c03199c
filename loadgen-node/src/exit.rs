//! Exit codes of `loadgen-node`, and errors that carry one.

use std::fmt;

/// How the program ends. Documented in `--help`; scripts rely on the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// VALID, or the command did its job.
    Ok = 0,
    /// A bug, or the operating system failed us.
    Bug = 1,
    /// Usage, configuration, or a file or model mismatch found before the start.
    Usage = 2,
    /// The run finished and is INVALID.
    Invalid = 3,
    /// Nodes or network failed.
    Network = 4,
    /// SIGINT or SIGTERM; partial results are written.
    Interrupted = 5,
}

/// An error and the exit code it means.
pub struct Failure {
    /// The exit code of a program that ends with this error.
    pub exit: Exit,
    /// What went wrong.
    pub error: anyhow::Error,
}

/// The outcome of a command.
pub type Outcome<T = Exit> = Result<T, Failure>;

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {:#}", self.exit, self.error)
    }
}

impl Failure {
    /// The error with its causes; those that the line already says are left out.
    pub(crate) fn one_line(&self) -> String {
        let mut line = String::new();
        for cause in self.error.chain().map(ToString::to_string) {
            if line.is_empty() {
                line = cause;
            } else if !line.contains(&cause) {
                line = format!("{line}: {cause}");
            }
        }
        line
    }
}

/// Gives an error its exit code where it is known what it means.
pub(crate) trait OrExit<T> {
    fn or_exit(self, exit: Exit) -> Outcome<T>;
}

impl<T, E: Into<anyhow::Error>> OrExit<T> for Result<T, E> {
    fn or_exit(self, exit: Exit) -> Outcome<T> {
        self.map_err(|error| Failure { exit, error: error.into() })
    }
}
