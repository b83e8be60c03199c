//! Benchmarks as data: the datasets that they take, their limits and rules, and how their answers are scored.
//!
//! - `definition`: a benchmark;
//! - `catalog`: the built-in benchmarks, and how one is found by its name;
//! - `file`: the contents of a benchmark's TOML file;
//! - `generation`: the parameters with which answers are generated, by round;
//! - `kind`: the kinds of datasets;
//! - `open_dataset`: opens a dataset for a benchmark;
//! - [`network`]: the codecs that the Network division allows, by direction and round;
//! - [`suite`]: the scenarios of a benchmark, by suite and round;
//! - `quality`: the scores that the official rules require;
//! - `official`: what the submission checker holds of each benchmark, by round;
//! - `published`: files of datasets that are published with their sums;
//! - `printed_scores`: what the scripts of the reference implementations print of accuracy;
//! - `verification`: the files of a dataset, held against what a benchmark promises;
//! - `rounds`: the rounds of MLPerf Inference;
//! - [`template`]: the start of a benchmark of the user's own.
//!
//! Settings that the official rounds prescribe are not here. They are found in official config files by the benchmark's
//! name.

mod catalog;
mod definition;
mod file;
mod generation;
mod kind;
pub mod network;
mod official;
mod open_dataset;
mod printed_scores;
mod published;
mod quality;
mod rounds;
pub mod suite;
pub mod template;
#[cfg(test)]
mod tests;
mod verification;

pub use catalog::BenchmarkError;
pub use definition::{Benchmark, QslSize};
pub use generation::Generation;
pub use network::NetworkRules;
pub use official::{Bound, Official, official_scores};
pub use printed_scores::{OfficialScores, official_text};
pub use quality::Quality;
pub use rounds::ROUNDS;
pub use suite::{Membership, Suite};
pub use verification::{About, Fault, Verified};

pub use crate::accuracy::Target;
