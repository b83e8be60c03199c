//! The flags of `dataset`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::format::FormatArgs;
use super::help;
use super::parse::rules;
use loadgen::conf::rules::Rules;

#[derive(Args, Debug)]
pub(crate) struct DatasetArgs {
    #[command(subcommand)]
    pub(crate) what: DatasetCommand,
}

#[derive(Subcommand, Debug)]
pub(crate) enum DatasetCommand {
    /// Say whether a dataset is what a benchmark promises, and what is wrong with it.
    #[command(after_help = help::DATASET)]
    Verify(VerifyArgs),
}

#[derive(Args, Debug)]
pub(crate) struct VerifyArgs {
    /// The file or folder, as `run --dataset` takes it.
    pub(crate) path: PathBuf,
    /// The benchmark: resnet50, bert, ... or a file of your own, NAME.toml.
    #[arg(long, value_name = "NAME", env = "LON_BENCHMARK")]
    pub(crate) benchmark: String,
    /// Round whose number of samples is promised: v5.0, v5.1, v6.0 or v6.1; v6.1 unless given.
    #[arg(long, value_name = "ROUND", value_parser = rules, env = "LON_RULES")]
    pub(crate) rules: Option<&'static Rules>,
    #[command(flatten)]
    pub(crate) form: FormatArgs,
}
