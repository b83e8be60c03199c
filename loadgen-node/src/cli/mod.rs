//! The command line: flags as typed, and what they mean.
//!
//! - `run`, `shared`, `codecs`, `nodes`, `metrics`, `probe`, `fleet`, `audit`, `dataset`, `submission`, `campaign`,
//!   `benchmark`, `other_commands`: the flags of each command;
//!   `format`: in which form a table is printed; `parse`: values of flags; `help`: texts after the flags; `headings`:
//!   under which help lists the flags; `flag_tip`: what is said of flags that are none;
//! - `checked`: from the flags of `run` to what is asked for.

#![allow(
    rustdoc::broken_intra_doc_links,
    rustdoc::invalid_html_tags,
    reason = "doc comments of flags are help texts, in which [X] and <X> are placeholders"
)]

use std::path::PathBuf;

use clap::{Parser, Subcommand};
use lon_shell::log::LogFormat;
use lon_shell::packaging::Shell;
use lon_shell::version::described;

pub(crate) use self::audit::AuditArgs;
pub(crate) use self::benchmark::{BenchmarkArgs, BenchmarkCommand, BenchmarkInitArgs};
pub(crate) use self::campaign::{CampaignArgs, CampaignCommand, CampaignRunArgs, Scheduler, TableArgs};
pub(crate) use self::checked::{AdviceSpec, RunRequest, tenant_arguments, this_call, without_outputs};
pub(crate) use self::dataset::{DatasetArgs, DatasetCommand, VerifyArgs};
pub(crate) use self::flag_tip::{is_setting, with_tip};
pub(crate) use self::fleet::{FleetArgs, FleetCommand, FleetNodes, FleetOn};
pub(crate) use self::format::Format;
pub(crate) use self::nodes::{DialArgs, KserveArgs, USUAL_TRANSPORT};
pub(crate) use self::other_commands::{
    AccuracyArgs, CompareArgs, ConfArgs, ConformanceArgs, ExportArgs, ExportForm, InferArgs, ListArgs, RecoverArgs,
    ReplayArgs, ReportArgs, SchemaArgs, ShowArgs, TraceArgs,
};
pub(crate) use self::parse::with_dashes;
pub(crate) use self::probe::{ProbeArgs, ProbeRequest};
pub(crate) use self::run::{DemoArgs, RunArgs, run_flags};
pub(crate) use self::shared::TestArgs;
pub(crate) use self::submission::{InitArgs, SubmissionArgs, SubmissionCommand};

mod audit;
mod benchmark;
mod campaign;
mod checked;
mod codecs;
mod dataset;
mod flag_tip;
mod fleet;
mod format;
mod headings;
mod help;
mod metrics;
mod nodes;
mod other_commands;
mod parse;
mod probe;
mod run;
mod shared;
mod submission;

/// The features that this build has beyond those of every build.
const FEATURES: [&str; 1] = [if cfg!(feature = "demo") { "demo" } else { "no demo" }];

/// The LoadGen node: plans MLPerf traffic, sends it over the network to SUT nodes, judges what comes back.
#[derive(Parser, Debug)]
#[command(name = "loadgen-node", version = described(env!("CARGO_PKG_VERSION"), &FEATURES),
          after_help = help::UNOFFICIAL, after_long_help = help::EXIT_CODES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Format of the log on standard error (RUST_LOG selects what is logged).
    #[arg(long, value_enum, default_value_t = LogFormat::Text, global = true, env = "LON_LOG_FORMAT",
          help_heading = headings::OUTPUT,
          hide_short_help = true)]
    pub(crate) log_format: LogFormat,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Run the digits benchmark on loopback, with nothing installed.
    #[cfg(feature = "demo")]
    #[command(after_help = help::DEMO)]
    Demo(DemoArgs),
    /// Run one test against SUT nodes.
    #[command(after_help = help::RUN_IN_SHORT, after_long_help = help::RUN)]
    Run(Box<RunArgs>),
    /// Measure the fabric: round trips, goodput, and what that carries.
    #[command(after_long_help = help::PROBE)]
    Probe(Box<ProbeArgs>),
    /// Check, start and end the SUT nodes of several hosts, over ssh.
    #[command(after_long_help = help::FLEET)]
    Fleet(FleetArgs),
    /// Print the traffic that settings would generate; needs no SUT.
    #[command(after_long_help = help::TRACE)]
    Trace(TraceArgs),
    /// Judge recorded results again; needs no SUT.
    #[command(after_long_help = help::REPLAY)]
    Replay(ReplayArgs),
    /// Print the result of a run again, from its folder.
    #[command(after_help = help::SHOW)]
    Show(ShowArgs),
    /// Write a run folder as one HTML page.
    #[command(after_long_help = help::REPORT)]
    Report(ReportArgs),
    /// List the runs below a folder: when, what, how fast, VALID or not.
    #[command(after_help = help::LIST)]
    List(ListArgs),
    /// Write the timeline of a run, a row for each sample.
    #[command(after_long_help = help::EXPORT)]
    Export(ExportArgs),
    /// Print the results of other scenarios that follow from a run.
    ///
    /// The rules for edge systems say which ones follow.
    #[command(after_help = help::INFER)]
    Infer(InferArgs),
    /// Compare runs: settings, quantities, and the differences that are noise.
    #[command(after_long_help = help::COMPARE)]
    Compare(CompareArgs),
    /// Make a result from the files of a run whose program was killed.
    #[command(after_long_help = help::RECOVER)]
    Recover(RecoverArgs),
    /// Score the accuracy log of a run folder against the labels.
    #[command(after_help = help::ACCURACY)]
    Accuracy(AccuracyArgs),
    /// Compare the files of a dataset with its benchmark; needs no SUT.
    #[command(after_help = help::DATASET)]
    Dataset(DatasetArgs),
    /// Compare finished runs with a compliance test, TEST01 to TEST09.
    #[command(after_long_help = help::AUDIT)]
    Audit(AuditArgs),
    /// From one file to a submission: its runs, audits and folders.
    #[command(after_long_help = help::SUBMISSION)]
    Submission(SubmissionArgs),
    /// From one file to many runs, and to one table of them.
    #[command(after_long_help = help::CAMPAIGN)]
    Campaign(CampaignArgs),
    /// Show the settings of a test with their origins; needs no SUT.
    #[command(after_long_help = help::conf())]
    Conf(ConfArgs),
    /// Begin a benchmark of your own, for the model that a node has.
    #[command(after_help = help::BENCHMARK)]
    Benchmark(BenchmarkArgs),
    /// Test a SUT node of your own against the wire contract.
    #[command(after_long_help = help::CONFORMANCE)]
    Conformance(ConformanceArgs),
    /// List the JSON documents, or print the schema of one.
    #[command(after_help = help::SCHEMA)]
    Schema(SchemaArgs),
    /// Print the script with which a shell completes this command line.
    #[command(after_help = help::COMPLETIONS)]
    Completions {
        /// The shell.
        shell: Shell,
    },
    /// Write the manual pages into a folder.
    #[command(after_help = help::MANUAL)]
    Manual {
        /// The folder.
        folder: PathBuf,
    },
}
