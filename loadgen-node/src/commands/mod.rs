//! The commands, one file each. A command takes its raw arguments and says with which exit code the program ends.
//!
//! `io` holds what they share: files that are read whole, and standard output. `scorer` is an option of `accuracy`,
//! `second_chance` a part of `audit`, `list_related` an option of `list`.

pub(crate) mod accuracy;
pub(crate) mod audit;
pub(crate) mod benchmark;
pub(crate) mod campaign;
pub(crate) mod codec_advice;
pub(crate) mod compare;
pub(crate) mod conf;
pub(crate) mod conformance;
pub(crate) mod dataset;
#[cfg(feature = "demo")]
pub(crate) mod demo;
pub(crate) mod export;
pub(crate) mod fleet;
pub(crate) mod infer;
mod io;
pub(crate) mod list;
mod list_related;
mod mix;
pub(crate) mod probe;
pub(crate) mod recover;
mod repeat;
pub(crate) mod replay;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod schema;
mod scorer;
mod second_chance;
pub(crate) mod show;
pub(crate) mod submission;
mod test_series;
pub(crate) mod trace;
mod trace_picture;
