//! The flags of `submission`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::format::FormatArgs;
use super::nodes::{ConnectionArgs, DialArgs};

#[derive(Args, Debug)]
pub(crate) struct SubmissionArgs {
    #[command(subcommand)]
    pub(crate) what: SubmissionCommand,
}

#[derive(Args, Debug)]
pub(crate) struct InitArgs {
    /// The file to write.
    pub(crate) file: PathBuf,
    /// The folder of a run on the same nodes. Its round, benchmark, scenario, dataset, rate, transport and nodes are
    /// filled in, and its findings on the system.
    #[arg(long, value_name = "FOLDER", conflicts_with = "sut")]
    pub(crate) run: Option<PathBuf>,
    /// The nodes, host:port[,host:port...]: they are asked, and what they say of themselves is filled in.
    #[arg(long, value_name = "NODES")]
    pub(crate) sut: Option<String>,
    #[command(flatten)]
    pub(crate) connection: ConnectionArgs,
}

impl InitArgs {
    /// The nodes to ask, if any.
    pub(crate) fn dial(&self) -> Option<DialArgs> {
        Some(DialArgs { sut: self.sut.clone()?, connection: self.connection.clone() })
    }
}

#[derive(Subcommand, Debug)]
pub(crate) enum SubmissionCommand {
    /// Write the file of a submission, to be filled in.
    Init(Box<InitArgs>),
    /// Print lines to fill in, every run with its time, and every rule that is broken already. Asks no SUT node.
    Plan {
        /// The file of the submission.
        file: PathBuf,
        #[command(flatten)]
        form: FormatArgs,
    },
    /// Make the runs and their audits, one after the other. Finished runs that are unchanged are kept.
    Run {
        /// The file of the submission.
        file: PathBuf,
    },
    /// Write the folders that the official submission checker takes.
    Build {
        /// The file of the submission.
        file: PathBuf,
        /// The folder to make.
        #[arg(long, value_name = "TREE")]
        out: PathBuf,
    },
    /// Check a submission tree, more strictly than the official checker; with --mlcommons run that checker, too.
    Check {
        /// The folder that `build` made, or one of others.
        tree: PathBuf,
        /// The round: v5.0, v5.1, v6.0 or v6.1; with --file the round of the file.
        #[arg(long, value_name = "ROUND")]
        rules: Option<String>,
        /// The file of the submission: the tree must be what its runs lead to, byte by byte.
        #[arg(long, value_name = "FILE")]
        file: Option<PathBuf>,
        /// A clone of mlcommons/inference: its checker is asked, too. It needs python3 with PyYAML.
        #[arg(long, value_name = "DIR", env = "MLCOMMONS_INFERENCE")]
        mlcommons: Option<PathBuf>,
        #[command(flatten)]
        form: FormatArgs,
    },
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        submission: SubmissionArgs,
    }

    /// Returns true when nodes are asked.
    fn init(line: &str) -> Result<bool, String> {
        let arguments = ["submission", "init", "FILE"].into_iter().chain(line.split_whitespace());
        match Line::try_parse_from(arguments).map_err(|error| error.to_string())?.submission.what {
            SubmissionCommand::Init(args) => Ok(args.dial().is_some()),
            _ => Err("not init".to_owned()),
        }
    }

    #[test]
    fn init_asks_nodes_or_reads_a_run() {
        assert_eq!([init(""), init("--sut a:1 --insecure"), init("--run a")], [Ok(false), Ok(true), Ok(false)]);
        assert!(init("--run a --sut b:1").unwrap_err().contains("cannot be used with"));
    }
}
