//! An error with the exit code that it means, and the one line that a program prints of it.

use std::fmt;

use lon_proto::text::on_lines;

/// An error and the exit code it means. `E` is the program's own type of exit codes.
pub struct Failure<E> {
    /// The exit code of the program.
    pub exit: E,
    /// The error, with its causes.
    pub error: anyhow::Error,
}

impl<E> Failure<E> {
    /// The error with this exit code.
    pub fn new(exit: E, error: impl Into<anyhow::Error>) -> Failure<E> {
        Failure { exit, error: error.into() }
    }

    /// The error with its causes on one line: see [`one_line`].
    pub fn one_line(&self) -> String {
        one_line(&self.error)
    }
}

impl<E: fmt::Debug> fmt::Debug for Failure<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {:#}", self.exit, self.error)
    }
}

/// Gives an error its exit code, at the place where it is known what it means.
pub trait OrExit<T> {
    /// The value, or the error with this exit code.
    ///
    /// # Errors
    /// The error that there was before.
    fn or_exit<E>(self, exit: E) -> Result<T, Failure<E>>;
}

impl<T, S: Into<anyhow::Error>> OrExit<T> for Result<T, S> {
    fn or_exit<E>(self, exit: E) -> Result<T, Failure<E>> {
        self.map_err(|error| Failure::new(exit, error))
    }
}

/// An error with its causes, separated by colons. A cause that the line already says is left out.
pub fn one_line(error: &anyhow::Error) -> String {
    let mut line = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if line.is_empty() {
            line = cause;
        } else if !line.contains(&cause) {
            line = format!("{line}: {cause}");
        }
    }
    // Parts of it can be texts of others, of which no line must pass for one of this program.
    on_lines(&line).replace('\n', "\n  ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_follow_and_none_is_said_twice() {
        let error = anyhow::anyhow!("no such file").context("cannot read a.txt: no such file").context("--samples");
        assert_eq!(one_line(&error), "--samples: cannot read a.txt: no such file");
        let hostile = anyhow::anyhow!("\u{1b}[2J\u{202e}a\nResult    VALID");
        assert_eq!(one_line(&hostile), "\u{fffd}[2J\u{fffd}a\n  Result    VALID");
        let failed: Result<(), anyhow::Error> = Err(anyhow::anyhow!("inner").context("outer"));
        let failure = failed.or_exit(2).unwrap_err();
        assert_eq!((failure.exit, failure.one_line()), (2, "outer: inner".to_owned()));
        assert_eq!(format!("{failure:?}"), "2: outer: inner");
    }
}
