//! The flags of `submission`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Args, Debug)]
pub(crate) struct SubmissionArgs {
    #[command(subcommand)]
    pub(crate) what: SubmissionCommand,
}

#[derive(Subcommand, Debug)]
pub(crate) enum SubmissionCommand {
    /// Write the file of a submission, to be filled in.
    Init {
        /// The file to write.
        file: PathBuf,
    },
    /// Print every run that is needed, how long it takes, and every rule that is broken already. Asks no SUT node.
    Plan {
        /// The file of the submission.
        file: PathBuf,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Make the runs and their audits, one after the other. What is there and still counts is not made again.
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
}
