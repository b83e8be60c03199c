//! The flags of `fleet`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::format::FormatArgs;

#[derive(Args, Debug)]
pub(crate) struct FleetArgs {
    #[command(subcommand)]
    pub(crate) what: FleetCommand,
}

#[derive(Subcommand, Debug)]
pub(crate) enum FleetCommand {
    /// Write the file of a fleet, to be filled in.
    Init {
        /// The file to write; unless given, it is printed.
        file: Option<PathBuf>,
    },
    /// Look whether every host can be reached, has the same program, and has the port free or the node on it.
    Check(FleetOn),
    /// Start every node that does not run, and wait until it answers.
    Start(FleetOn),
    /// Say which nodes run and answer.
    Status(FleetOn),
    /// Ask every node to end (SIGTERM), and wait for that.
    Stop(FleetOn),
    /// Copy every node's log into a folder here.
    Logs {
        #[command(flatten)]
        on: FleetOn,
        /// The folder; a log of the same name in it is replaced.
        #[arg(long, value_name = "DIR", default_value = "fleet-logs")]
        out: PathBuf,
    },
    /// Print the flags with which `loadgen-node run` reaches the nodes.
    Nodes {
        #[command(flatten)]
        which: FleetNodes,
        #[command(flatten)]
        form: FormatArgs,
    },
}

/// The nodes of a file.
#[derive(Args, Debug)]
pub(crate) struct FleetNodes {
    /// The file of the fleet.
    pub(crate) file: PathBuf,
    /// Only these nodes; can be repeated.
    #[arg(long, value_name = "NAME,NAME...", value_delimiter = ',')]
    pub(crate) only: Vec<String>,
}

/// Flags of a command on the nodes of a file.
#[derive(Args, Debug)]
pub(crate) struct FleetOn {
    #[command(flatten)]
    pub(crate) which: FleetNodes,
    /// Print the commands, to be pasted into a shell, and do nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// List every node; unless given, those that failed alone where there are more than 32.
    #[arg(long)]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) form: FormatArgs,
}
