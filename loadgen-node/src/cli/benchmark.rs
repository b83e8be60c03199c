//! The flags of `benchmark`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::nodes::{DialArgs, KserveArgs};

#[derive(Args, Debug)]
pub(crate) struct BenchmarkArgs {
    #[command(subcommand)]
    pub(crate) what: BenchmarkCommand,
}

#[derive(Subcommand, Debug)]
pub(crate) enum BenchmarkCommand {
    /// Ask a node for its model, and write a benchmark file and a dataset of the right names, types and shapes.
    Init(Box<BenchmarkInitArgs>),
}

#[derive(Args, Debug)]
pub(crate) struct BenchmarkInitArgs {
    /// The file to write, NAME.toml. The dataset is written beside it: NAME.npy for one input, NAME.npz for several, a
    /// folder NAME with a .npz for each sample where sizes may vary.
    #[arg(default_value = "mine.toml")]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) dial: DialArgs,
    #[command(flatten)]
    pub(crate) kserve: KserveArgs,
}
