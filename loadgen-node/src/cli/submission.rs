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
        /// The folder of a run on the same nodes: what it has found of them is filled in.
        #[arg(long, value_name = "FOLDER")]
        run: Option<PathBuf>,
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
    /// Look at such folders more strictly than the official checker does, and ask that one, too.
    Check {
        /// The folder that `build` made, or one of others.
        tree: PathBuf,
        /// The round: v5.0, v5.1, v6.0 or v6.1.
        #[arg(long, value_name = "ROUND")]
        rules: String,
        /// The file of the submission: the tree must be what its runs lead to, byte by byte.
        #[arg(long, value_name = "FILE")]
        file: Option<PathBuf>,
        /// A clone of mlcommons/inference: its checker is asked, too. It needs python3 with PyYAML.
        #[arg(long, value_name = "DIR", env = "MLCOMMONS_INFERENCE")]
        mlcommons: Option<PathBuf>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}
