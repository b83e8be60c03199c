//! The LoadGen node: the command line, the real [`World`](loadgen::world::World) over the QDL, run folder and reports.
//!
//! - `args`, `exit`: what can be typed, and how it ends;
//! - `run`: one test from flags to run folder; `demo`: the same against SUT nodes of its own;
//! - `net_world`, `inbox`, `pace`: time, issuing and arrivals over a network;
//! - `setup`, `targets`, `dial`, `security`, `signals`: what is checked and caught before anything is sent;
//! - `kserve`: nodes that are no SUT nodes;
//! - `division`: what the division that a run is for demands of it;
//! - `folder`, `logs`, `result`, `screen`: what is left behind, and what is shown; `tokens`: the same of token runs;
//! - `network`: what crossed, and what it means for a fabric; `system_desc`: what it crossed between;
//! - `probe`, `carries`: what a fabric can carry; `advice`: what a codec would buy;
//! - `conf`, `conf_view`: settings with their origins, and what a run will take;
//! - `peak`: flags and file of a search for the peak;
//! - `accuracy`, `trace`: the other commands that need no SUT.

mod accuracy;
mod advice;
mod args;
mod baseline;
mod carries;
mod conf;
mod conf_view;
#[cfg(feature = "demo")]
mod demo;
mod dial;
mod division;
mod exit;
mod finished;
mod folder;
mod help;
mod inbox;
mod kserve;
mod latency;
mod logs;
mod net_world;
mod network;
mod pace;
mod peak;
mod probe;
mod progress;
mod result;
mod run;
mod saturation;
mod screen;
mod security;
mod setup;
mod signals;
mod system_desc;
mod tally;
mod targets;
mod tokens;
mod vectors;

use std::io::{IsTerminal as _, Write as _};
use std::process::ExitCode;

use anyhow::Context as _;
use args::{Cli, Command, LogFormat};
use clap::Parser as _;
pub use exit::Exit;
use exit::OrExit as _;
use tracing_subscriber::EnvFilter;

/// Runs the command line and says how it ended. A panic on this thread is a bug, and its exit code says so.
pub fn main() -> ExitCode {
    let exit = std::panic::catch_unwind(command).unwrap_or(Exit::Bug);
    ExitCode::from(exit as u8)
}

fn command() -> Exit {
    let cli = Cli::parse_from(args::with_dashes(std::env::args_os()));
    let outcome = start_log(cli.log_format).and_then(|()| match cli.command {
        #[cfg(feature = "demo")]
        Command::Demo(args) => demo::demo(args),
        Command::Run(args) => run::run(&args),
        Command::Probe(args) => probe::probe(&args),
        Command::Trace(args) => vectors::trace(&args),
        Command::Replay(args) => vectors::replay(&args),
        Command::Accuracy(args) => accuracy::accuracy(&args),
        Command::Conf(args) => conf::conf(&args),
    });
    outcome.unwrap_or_else(|failure| {
        let _ = writeln!(std::io::stderr(), "loadgen-node: {}", failure.one_line());
        failure.exit
    })
}

fn start_log(format: LogFormat) -> exit::Outcome<()> {
    let filter = match std::env::var("RUST_LOG") {
        Ok(text) => EnvFilter::try_new(&text).with_context(|| format!("RUST_LOG='{text}'")).or_exit(Exit::Usage)?,
        Err(_) => EnvFilter::new("info,tract=warn,ort=warn,sut_node=warn"),
    };
    // A log that cannot be written is no reason to stop, and must not become a panic.
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).log_internal_errors(false);
    match format {
        LogFormat::Text => log.with_ansi(std::io::stderr().is_terminal()).init(),
        LogFormat::Json => log.json().init(),
    }
    Ok(())
}
