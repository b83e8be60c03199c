//! `lon-perf`: how close the LoadGen node and the SUT node come to what the machine can do.
//!
//! Every row of the table is one figure of ours and one bare reference, measured in turns in the same run: machines
//! differ, and the same machine differs from minute to minute, but both then differ for both. The product is run as
//! its users run it, as processes; so are the references, which are subcommands of this program.

mod args;
mod load;
mod measure;
mod process;
mod product;
mod reference;
mod report;
mod row;
mod rows;
mod search;
mod stats;

use std::io::Write as _;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Parser as _;

use args::{Cli, Command};

/// As in the product's binaries.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const EXIT_FAILED: u8 = 1;

fn main() -> ExitCode {
    let outcome = run(Cli::parse());
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(EXIT_FAILED),
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "lon-perf: {error:#}");
            ExitCode::from(EXIT_FAILED)
        }
    }
}

/// Whether everything was measured.
fn run(cli: Cli) -> anyhow::Result<bool> {
    if let Some(Command::Reference(command)) = cli.command {
        reference::run(command)?;
        return Ok(true);
    }
    let rows = rows::selected(&cli.rows, cli.soak)?;
    let mut stdout = std::io::stdout();
    if cli.list {
        for row in rows {
            writeln!(stdout, "{:<22} {}", row.name, row.what)?;
        }
        return Ok(true);
    }
    let context = measure::Context::new(&cli)?;
    let begin = std::time::Instant::now();
    let results: Vec<row::Outcome> = rows.into_iter().map(|row| measure::measure(&context, row)).collect();
    let report = report::Report::new(results, if cli.soak { 1 } else { cli.rounds }, begin.elapsed());
    write!(stdout, "{}", report.text())?;
    if let Some(path) = &cli.json {
        let text = serde_json::to_string_pretty(&report.json())? + "\n";
        std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    if let Some(path) = &cli.markdown {
        std::fs::write(path, report.markdown()).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(report.is_complete())
}
