//! What the command lines of the two programs, `loadgen-node` and `sut-node`, share.
//!
//! - [`documents`]: JSON documents that one program writes and the other reads;
//! - [`duration`]: durations as people type them;
//! - [`failure`]: an error with its exit code, and the one line that is printed of it;
//! - [`figures`]: bytes and durations as people read them;
//! - [`log`]: the log on standard error;
//! - [`tls`]: what `--tls-ca`, `--tls-cert`, `--tls-key` and `--insecure` mean.
//!
//! What is not here: the flags themselves, whose help differs between the commands, and the exit codes, which are each
//! program's own.

pub mod documents;
pub mod duration;
pub mod failure;
pub mod figures;
pub mod log;
pub mod tls;
