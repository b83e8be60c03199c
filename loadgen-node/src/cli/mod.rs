//! The command line: flags as typed, and what they mean.
//!
//! - `run`, `shared`, `nodes`, `others`: the flags of each command; `parse`: values of flags; `help`: texts after the
//!   flags;
//! - `checked`: from the flags of `run` to what is asked for.

#![allow(
    rustdoc::broken_intra_doc_links,
    rustdoc::invalid_html_tags,
    reason = "doc comments of flags are help texts, in which [X] and <X> are placeholders"
)]

use clap::{Parser, Subcommand, ValueEnum};
use lon_shell::log::LogFormat;

pub(crate) use self::checked::{AdviceSpec, Asked};
pub(crate) use self::nodes::KserveArgs;
pub(crate) use self::others::{AccuracyArgs, ConfArgs, ProbeArgs, ReplayArgs, TraceArgs};
pub(crate) use self::parse::with_dashes;
pub(crate) use self::run::{DemoArgs, RunArgs};

mod checked;
mod help;
mod nodes;
mod others;
mod parse;
mod run;
mod shared;

/// The LoadGen node: plans MLPerf traffic, sends it over the network to SUT nodes, judges what comes back.
#[derive(Parser, Debug)]
#[command(name = "loadgen-node", version, after_help = help::EXIT_CODES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Format of the log on standard error (RUST_LOG selects what is logged).
    #[arg(long, value_enum, default_value_t = LogFormatArg::Text, global = true, env = "LON_LOG_FORMAT")]
    pub(crate) log_format: LogFormatArg,
}

// Without a word on each value, so that help lists them on one line.
/// The values of `--log-format`.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum LogFormatArg {
    Text,
    Json,
}

impl From<LogFormatArg> for LogFormat {
    fn from(format: LogFormatArg) -> LogFormat {
        match format {
            LogFormatArg::Text => LogFormat::Text,
            LogFormatArg::Json => LogFormat::Json,
        }
    }
}

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Do the main job with nothing installed: two SUT nodes on loopback, the digits benchmark over gRPC.
    #[cfg(feature = "demo")]
    #[command(after_help = help::DEMO)]
    Demo(DemoArgs),
    /// Run one test against SUT nodes.
    #[command(after_help = help::RUN)]
    Run(Box<RunArgs>),
    /// Measure the fabric: round trips, goodput, latency under load, and what that carries.
    #[command(after_help = help::PROBE)]
    Probe(ProbeArgs),
    /// Print the traffic that settings would generate; needs no SUT.
    #[command(after_help = help::TRACE)]
    Trace(TraceArgs),
    /// Judge recorded results again; needs no SUT.
    #[command(after_help = help::REPLAY)]
    Replay(ReplayArgs),
    /// Score the accuracy log of a run folder against the dataset's labels.
    #[command(after_help = help::ACCURACY)]
    Accuracy(AccuracyArgs),
    /// Show the settings of a test with their origins, and what a run with them will take; needs no SUT.
    #[command(after_help = help::CONF)]
    Conf(ConfArgs),
}
