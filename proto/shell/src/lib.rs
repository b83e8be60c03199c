//! The shared parts of the command lines of the two programs, `loadgen-node` and `sut-node`.
//!
//! - [`choice`]: flags whose value is one of a few names;
//! - [`panics`]: what is said of panics, and who learns of them;
//! - [`dli`]: rows of the DLI benchmark, which both programs write;
//! - [`documents`]: JSON documents that one program writes and the other reads;
//! - [`duration`]: durations as people type them;
//! - [`failure`]: an error with its exit code, and the one line that is printed of it;
//! - [`log`]: the log on standard error;
//! - [`metrics`]: the counters of a program, for Prometheus and the like;
//! - [`packaging`]: completions and manual pages;
//! - [`short_help`]: `-h`, which fits on a screen;
//! - [`variables`]: errors of the command line that variables of the environment have made;
//! - [`version`]: what a program knows of its own build;
//! - [`tls`]: what `--tls-ca`, `--tls-cert`, `--tls-key` and `--insecure` mean.
//!
//! What is not here: the flags themselves, whose help differs between the commands, and the exit codes, which are each
//! program's own.

#[cfg(feature = "command-line")]
pub mod choice;
pub mod dli;
pub mod documents;
pub mod duration;
pub mod failure;
pub mod log;
pub mod metrics;
#[cfg(feature = "command-line")]
pub mod packaging;
pub mod panics;
#[cfg(feature = "command-line")]
pub mod short_help;
pub mod tls;
#[cfg(feature = "command-line")]
pub mod variables;
pub mod version;
