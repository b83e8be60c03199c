//! The commands, one file each. A command takes its raw arguments and says with which exit code the program ends.
//!
//! `io` holds what they share: files that are read whole, and standard output. `scorer` is an option of `accuracy`.

pub(crate) mod accuracy;
pub(crate) mod advise;
pub(crate) mod audit;
pub(crate) mod compare;
pub(crate) mod conf;
pub(crate) mod conformance;
#[cfg(feature = "demo")]
pub(crate) mod demo;
pub(crate) mod export;
mod io;
pub(crate) mod list;
pub(crate) mod probe;
pub(crate) mod recover;
pub(crate) mod replay;
pub(crate) mod report;
pub(crate) mod run;
mod scorer;
pub(crate) mod show;
pub(crate) mod submission;
pub(crate) mod trace;
