//! Exit codes of `loadgen-node`, and errors that carry one.

/// Exit code of the program. `--help` documents the numbers, and scripts rely on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// VALID, or the command did its job.
    Ok = 0,
    /// A bug, the operating system failed us, or official logs say what the engine does not.
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

impl Exit {
    /// The code of the two that says more: a bug, a lost node, an interruption, an INVALID result.
    pub fn worse(self, other: Exit) -> Exit {
        let weight =
            |exit| [Exit::Ok, Exit::Invalid, Exit::Interrupted, Exit::Network].iter().position(|known| *known == exit);
        // Codes that are not listed are the worst.
        if weight(other).unwrap_or(usize::MAX) > weight(self).unwrap_or(usize::MAX) { other } else { self }
    }
}

/// An error of this program, with the exit code that it means.
pub type Failure = lon_shell::failure::Failure<Exit>;

/// Result of a fallible step of this program. A command returns its exit code.
pub type Outcome<T = Exit> = Result<T, Failure>;

pub use lon_shell::failure::OrExit;
