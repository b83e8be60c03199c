//! The exit codes of `sut-node`, as `--help` documents them.

/// End of the program. The number is its exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Exit {
    /// The command did its job.
    Done = 0,
    /// A bug, or the operating system. For `healthcheck`: the node does not serve.
    Bug = 1,
    /// Usage, configuration, or a model that cannot be used.
    Usage = 2,
}

/// An error and the exit code that it means.
pub(super) type Failure = lon_shell::failure::Failure<Exit>;
