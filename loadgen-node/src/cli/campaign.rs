//! The flags of `campaign`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::format::FormatArgs;

#[derive(Args, Debug)]
pub(crate) struct CampaignArgs {
    #[command(subcommand)]
    pub(crate) what: CampaignCommand,
}

#[derive(Subcommand, Debug)]
pub(crate) enum CampaignCommand {
    /// Write the file of a campaign, with comments on all keys.
    Init {
        /// The file to write.
        file: PathBuf,
    },
    /// Make the file of a campaign of a configuration of the DLI benchmark.
    ///
    /// Each of its tests becomes a case. Elements without a counterpart are comments of the file, and warnings.
    Import {
        /// The configuration of DLI's BenchmarkApp, XML with Tests/Test.
        file: PathBuf,
        /// The file to write; standard output unless given. A file that is there is never overwritten.
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// Print the cells of a campaign, and the time that they take. Asks no SUT node.
    Plan {
        /// The file of the campaign.
        file: PathBuf,
        #[command(flatten)]
        form: FormatArgs,
    },
    /// Print what is known of each machine before the start, and what would spoil the numbers.
    Doctor {
        /// The file of the campaign.
        file: PathBuf,
        #[command(flatten)]
        form: FormatArgs,
    },
    /// Make the runs, one after the other. Runs that have ended are kept.
    Run(CampaignRunArgs),
    /// Print a job of Slurm or Kubernetes with a task for each cell, and keep the plan.
    Render {
        /// The file of the campaign.
        file: PathBuf,
        /// Scheduler that runs the job.
        #[arg(long = "for", value_name = "SCHEDULER")]
        scheduler: Scheduler,
        /// Kubernetes: image with both programs.
        #[arg(long, default_value = "lon")]
        image: String,
    },
    /// Print the table of a campaign, which may still go on.
    Table(Box<TableArgs>),
}

#[derive(Args, Debug)]
pub(crate) struct CampaignRunArgs {
    /// The file of the campaign.
    pub(crate) file: PathBuf,
    /// Make runs again that came to no result.
    #[arg(long)]
    pub(crate) retry_failed: bool,
    /// Make the runs of one cell alone: its name, or its number in the plan, from 0.
    #[arg(long, value_name = "CELL")]
    pub(crate) cell: Option<String>,
    /// Hosts for the nodes of [node], one node on each in turn; this machine unless given.
    #[arg(long, value_name = "HOST,...", value_delimiter = ',', requires = "launch")]
    pub(crate) hosts: Vec<String>,
    /// Command that starts a node on a host: words with blanks between them, {host} for the host. The words of the node
    /// follow.
    #[arg(long, value_name = "COMMAND", requires = "hosts")]
    pub(crate) launch: Option<String>,
    /// Fleet file whose nodes run, over ssh, with the flags of [node]. Models in one file are copied to the hosts.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["hosts", "launch"])]
    pub(crate) fleet: Option<PathBuf>,
    /// Print a line of JSON for each run that has ended.
    #[arg(long)]
    pub(crate) json: bool,
}

/// A scheduler for which a campaign can be rendered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scheduler {
    /// A job array.
    Slurm,
    /// An Indexed Job.
    Kubernetes,
}

#[derive(Args, Debug)]
pub(crate) struct TableArgs {
    /// The file of the campaign.
    pub(crate) file: PathBuf,
    /// Quantities, by their words in `compare --fail-if`; unless given, metric_rate, metric_latency, p50, p99, sent and
    /// carried_in, where a run has them.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) columns: Vec<String>,
    #[command(flatten)]
    pub(crate) form: FormatArgs,
    /// Also write an HTML page that sorts and filters the table, with a chart; with --dli, a page with FPS by model and
    /// machine. A file that is no page is never overwritten.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Also write the table as Parquet, into a file that is not there.
    #[arg(long, value_name = "FILE")]
    pub(crate) parquet: Option<PathBuf>,
    /// The chart's axis to the right: an axis of the campaign or a quantity; the axis with the most numbers unless
    /// given.
    #[arg(long, value_name = "NAME", requires = "html", conflicts_with = "dli")]
    pub(crate) x: Option<String>,
    /// The chart's axis upwards: a quantity; the first of the table unless given.
    #[arg(long, value_name = "NAME", requires = "html", conflicts_with = "dli")]
    pub(crate) y: Option<String>,
    /// Print the 22 columns of the DLI benchmark instead, a row for each run, as CSV with semicolons.
    #[arg(long, conflicts_with_all = ["columns", "parquet", "format", "json"])]
    pub(crate) dli: bool,
    /// Print the accuracy table of the DLI benchmark instead, a row for each metric of each accuracy run, as CSV with
    /// semicolons.
    #[arg(long, conflicts_with_all = ["dli", "columns", "html", "parquet", "format", "json"])]
    pub(crate) dli_accuracy: bool,
}
