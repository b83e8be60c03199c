//! The LoadGen node: the command line, tests over [the network](lon_world), run folder and reports.
//!
//! | room | what it is for |
//! |---|---|
//! | `commands` | the commands, one file each |
//! | `cli` | the command line: flags as typed, and what they come to once checked |
//! | `probe_baseline` | a probe held against an earlier one: what differs, and where the cause likely is |
//! | `comparison` | runs side by side, and whether a difference is noise |
//! | `keys` | keys of TOML files that stand for flags |
//! | `mix` | from one file to tests that run together |
//! | `campaign` | from one file to many runs, and to one table of them |
//! | `fleet` | SUT nodes of several hosts, from one file: checked, started, ended over ssh |
//! | `submission` | from one file to the runs of a submission and its folders |
//! | `outputs` | what a run leaves behind: folder, logs, JSON documents, page, the result on the screen |
//! | `display` | a run as it is shown while it goes on: progress line, dashboard, metrics |
//! | `test_run` | one test as a value: what is asked for, its checks, its run, what is known afterwards |
//! | `live` | what is known of a run while it goes on, read by one reader |
//! | `probe` | what a fabric can carry, measured |
//! | `verdict` | reasons that make a result INVALID, or limit what it says: reasons, saturation, baseline |
//! | `audit` | compliance tests on finished runs: logs in, rows and verdicts out |
//! | `division` | the rules of the Network division, and what is found of them |
//! | `network` | what crossed the network, and what that means for a fabric |
//! | `jobs` | commands that run one after the other, and end with the program that started them |
//! | `nodes` | which SUT nodes there are, and how they are reached |
//! | `signals` | SIGINT and SIGTERM |
//! | `exit` | exit codes, and errors that carry one |
//!
//! A room may use those below it, and no other. Only `commands` and `cli` know the command line: a program can make a
//! [`TestSpec`], turn it into a [`Test`], run it, and [`record`] its files; as many as it wants, one after the other.

mod audit;
mod campaign;
mod cli;
mod commands;
mod comparison;
mod display;
mod division;
mod exit;
mod fleet;
mod jobs;
mod keys;
mod live;
mod mix;
mod network;
mod nodes;
mod outputs;
mod probe;
mod probe_baseline;
mod signals;
mod submission;
mod test_run;
mod verdict;

use std::ffi::OsString;
use std::io::Write as _;
use std::process::ExitCode;

use anyhow::Context as _;
pub use audit::{AuditCheck, CheckOutcome, CheckRule};
use clap::{CommandFactory as _, FromArgMatches as _};
pub use cli::object;
use cli::{Cli, Command};
pub use division::{AccuracyRun, Division};
use exit::OrExit as _;
pub use exit::{Exit, Failure, Outcome};
use lon_shell::{bugs, packaging, short_help, variables};
pub use lon_world::pace::{PacingSpec, Spin};
pub use nodes::target::Target;
pub use outputs::documents;
pub use outputs::run_folder::folder::{FolderError, Place, RunFolder};
pub use outputs::run_folder::qdl_files;
pub use outputs::run_folder::record::{Recorded, record};
pub use outputs::run_folder::write_order::{NotWritten, Saved};
pub use signals::StopRequests;
pub use test_run::{
    Call, Claimed, Codecs, Connected, DataSpec, ExternalTest, FindPeakSpec, Finished, Label, LabelError, Labels,
    Limits, Measured, SettingsSpec, Taker, Test, TestSpec, open_samples,
};
pub use verdict::within::{WithinError, WithinLimits};

/// Filter of the log unless `RUST_LOG` says otherwise.
const USUAL_LOG: &str = "info,lon_sut=warn";

/// Runs the command line and says how it ended. A panic on any thread is a bug, and the exit code says so.
pub fn main() -> ExitCode {
    let exit = match std::panic::catch_unwind(command) {
        Ok(Exit::Ok) if bugs::first().is_some() => Exit::Bug,
        Ok(exit) => exit,
        Err(_) => Exit::Bug,
    };
    ExitCode::from(exit as u8)
}

fn command() -> Exit {
    if let Err(error) = bugs::watch("loadgen-node", Exit::Bug as u8) {
        let _ = writeln!(std::io::stderr(), "loadgen-node: panics are not told in the usual way: {error}");
    }
    let args: Vec<OsString> = cli::with_dashes(std::env::args_os()).collect();
    let matches = short_help::fitted(Cli::command(), &args).try_get_matches_from(&args);
    let matches = matches.unwrap_or_else(|error| variables::told(cli::with_tip(error), &Cli::command(), &args).exit());
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    let log = lon_shell::log::start(cli.log_format.into(), USUAL_LOG).or_exit(Exit::Usage);
    let ready = log.and_then(|()| lon_net::descriptors::raise_limit().or_exit(Exit::Usage));
    let outcome = ready.and_then(|_| match cli.command {
        #[cfg(feature = "demo")]
        Command::Demo(args) => commands::demo::demo(args),
        Command::Run(args) => commands::run::run(&args),
        Command::Probe(args) => commands::probe::probe(&args),
        Command::Trace(args) => commands::trace::trace(&args),
        Command::Replay(args) => commands::replay::replay(&args),
        Command::Recover(args) => commands::recover::recover(&args),
        Command::Show(args) => commands::show::show(&args),
        Command::Report(args) => commands::report::report(&args),
        Command::List(args) => commands::list::list(&args),
        Command::Export(args) => commands::export::export(&args),
        Command::Infer(args) => commands::infer::infer(&args),
        Command::Compare(args) => commands::compare::compare(&args),
        Command::Accuracy(args) => commands::accuracy::accuracy(&args),
        Command::Dataset(args) => commands::dataset::dataset(&args),
        Command::Audit(args) => commands::audit::audit(&args),
        Command::Campaign(args) => commands::campaign::campaign(&args),
        Command::Submission(args) => commands::submission::submission(&args),
        Command::Fleet(args) => commands::fleet::fleet(&args),
        Command::Conf(args) => commands::conf::conf(&args),
        Command::Benchmark(args) => commands::benchmark::benchmark(&args.what),
        Command::Conformance(args) => commands::conformance::conformance(&args),
        Command::Schema(args) => commands::schema::schema(&args),
        Command::Completions { shell } => {
            packaging::completions(Cli::command(), shell).or_exit(Exit::Bug).map(|()| Exit::Ok)
        }
        Command::Manual { folder } => packaging::manual(Cli::command(), &folder)
            .with_context(|| folder.display().to_string())
            .or_exit(Exit::Usage)
            .map(|()| Exit::Ok),
    });
    outcome.unwrap_or_else(|failure| {
        let message = failure.one_line();
        let variables = variables::behind(&message, &Cli::command(), &args);
        let _ = writeln!(std::io::stderr(), "loadgen-node: {message}{variables}");
        failure.exit
    })
}
