//! The LoadGen node's program: the command line, and what is made of many runs. [`lon_run`] makes one.
//!
//! | room | what it is for |
//! |---|---|
//! | `commands` | the commands, one file each |
//! | `campaign` | from one file to many runs, and to one table of them |
//! | `submission` | from one file to the runs of a submission and its folders |
//! | `fleet` | SUT nodes of several hosts, from one file: checked, started, ended over ssh |
//! | `mix` | from one file to tests that run together |
//! | `keys` | keys of TOML files that stand for flags |
//! | `cli` | the command line: flags as typed, and what they come to once checked |
//! | `comparison` | runs side by side, and whether a difference is noise |
//! | `display` | a run as it is shown while it goes on: progress line, dashboard, metrics |
//! | `jobs` | commands that run one after the other, and end with the program that started them |
//!
//! A room may use those below it, and no other. Only `commands` and `cli` know the command line.

mod campaign;
mod cli;
mod commands;
mod comparison;
mod display;
mod fleet;
mod jobs;
mod keys;
mod mix;
mod submission;

use std::ffi::OsString;
use std::io::Write as _;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::{CommandFactory as _, FromArgMatches as _};
use cli::{Cli, Command};
use lon_run::exit::{Exit, OrExit as _};
use lon_shell::{packaging, panics, short_help, variables};

/// Filter of the log unless `RUST_LOG` says otherwise.
const USUAL_LOG: &str = "info,lon_sut=warn";

/// Runs the command line and says how it ended. A panic on any thread is a bug, and the exit code says so.
pub fn main() -> ExitCode {
    let exit = match std::panic::catch_unwind(command) {
        Ok(Exit::Ok) if panics::first().is_some() => Exit::Bug,
        Ok(exit) => exit,
        Err(_) => Exit::Bug,
    };
    ExitCode::from(exit as u8)
}

fn command() -> Exit {
    if let Err(error) = panics::watch("loadgen-node", Exit::Bug as u8) {
        let _ = writeln!(std::io::stderr(), "loadgen-node: panics are not told in the usual way: {error}");
    }
    let args: Vec<OsString> = cli::with_dashes(std::env::args_os()).collect();
    let matches = short_help::fitted(Cli::command(), &args).try_get_matches_from(&args);
    let matches = matches
        .unwrap_or_else(|error| variables::with_tips_on_variables(cli::with_tip(error), &Cli::command(), &args).exit());
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    let log = lon_shell::log::start(cli.log_format, USUAL_LOG).or_exit(Exit::Usage);
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
