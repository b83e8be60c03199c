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

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

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

/// Runs the command. Returns true when everything was measured.
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
    // The files are created before the long part, so that an unusable path is reported at once.
    let [mut json, mut markdown] = [create(cli.json.as_deref())?, create(cli.markdown.as_deref())?];
    context.look_around()?;
    let begin = Instant::now();
    let results: Vec<row::Outcome> = rows.into_iter().map(|row| measure::measure(&context, row)).collect();
    let rounds = if cli.soak { 1 } else { cli.rounds };
    let report = report::Report::new(results, rounds, begin.elapsed());
    write!(stdout, "{}", report.text())?;
    if let Some(file) = &mut json {
        writeln!(file, "{}", serde_json::to_string_pretty(&report.json())?).context("--json")?;
    }
    if let Some(file) = &mut markdown {
        write!(file, "{}", report.markdown()).context("--markdown")?;
    }
    Ok(report.is_complete())
}

fn create(path: Option<&Path>) -> anyhow::Result<Option<File>> {
    let create = |path: &Path| File::create(path).with_context(|| format!("cannot write {}", path.display()));
    path.map(create).transpose()
}
