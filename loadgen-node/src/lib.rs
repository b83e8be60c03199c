//! The LoadGen node: the command line, the real [`World`](loadgen::world::World) over the QDL, run folder and reports.
//!
//! | room | what it is for |
//! |---|---|
//! | `commands` | the commands, one file each |
//! | `cli` | the command line: flags as typed, and what they come to once checked |
//! | `outputs` | what a run leaves behind and shows: folder, logs, JSON documents, screen, progress |
//! | `test_run` | one test as a value: what is asked for, its checks, its run, what is known afterwards |
//! | `probe` | what a fabric can carry, measured |
//! | `verdict` | reasons that make a result INVALID, or limit what it says: division, reasons, saturation, baseline |
//! | `network` | what crossed the network, and what that means for a fabric |
//! | `world` | the real world over the QDL: nodes, issuing, waiting, arrivals |
//! | `exit` | exit codes, and errors that carry one |
//!
//! A room may use those below it, and no other. Only `commands` and `cli` know the command line: a program can make a
//! [`TestSpec`], turn it into a [`Test`], run it, and [`record`] its files; as many as it wants, one after the other.

mod cli;
mod commands;
mod exit;
mod network;
mod outputs;
mod probe;
mod test_run;
mod verdict;
mod world;

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser as _;
use cli::{Cli, Command};
use exit::OrExit as _;
pub use exit::{Exit, Failure, Outcome};
pub use outputs::documents;
pub use outputs::folder::{FolderError, RunFolder};
pub use outputs::record::{Recorded, record};
pub use test_run::{
    Claimed, Codecs, Connected, DataSpec, FindPeakSpec, Finished, Limits, Measured, SettingsSpec, Test, TestSpec,
};
pub use verdict::division::Division;
pub use world::pace::{PacingSpec, Spin};
pub use world::signals::StopRequests;
pub use world::target::Target;

/// What is logged unless `RUST_LOG` says otherwise.
const USUAL_LOG: &str = "info,tract=warn,ort=warn,sut_node=warn";

/// Runs the command line and says how it ended. A panic on this thread is a bug, and its exit code says so.
pub fn main() -> ExitCode {
    let exit = std::panic::catch_unwind(command).unwrap_or(Exit::Bug);
    ExitCode::from(exit as u8)
}

fn command() -> Exit {
    let cli = Cli::parse_from(cli::with_dashes(std::env::args_os()));
    let log = lon_shell::log::start(cli.log_format.into(), USUAL_LOG).or_exit(Exit::Usage);
    let outcome = log.and_then(|()| match cli.command {
        #[cfg(feature = "demo")]
        Command::Demo(args) => commands::demo::demo(args),
        Command::Run(args) => commands::run::run(&args),
        Command::Probe(args) => commands::probe::probe(&args),
        Command::Trace(args) => commands::trace::trace(&args),
        Command::Replay(args) => commands::replay::replay(&args),
        Command::Accuracy(args) => commands::accuracy::accuracy(&args),
        Command::Conf(args) => commands::conf::conf(&args),
    });
    outcome.unwrap_or_else(|failure| {
        let _ = writeln!(std::io::stderr(), "loadgen-node: {}", failure.one_line());
        failure.exit
    })
}
