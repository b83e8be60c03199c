//! The command `compare`: runs side by side.

use std::path::Path;

use anyhow::{Error, anyhow};
use lon_shell::documents::of_text;

use super::io::{input_text, path_text, print_json_pretty, print_text};
use crate::cli::{CompareArgs, Format};
use crate::comparison::{self, Side};
use lon_run::exit::{Exit, OrExit as _, Outcome};
use lon_run::outputs::documents::probe::ProbeDocument;
use lon_run::outputs::run_folder::folder;

/// Prints the comparison, and writes it as a page where that is asked for. INVALID: a condition of `--fail-if` holds.
pub(crate) fn compare(args: &CompareArgs) -> Outcome {
    let sides = Side::all(&args.sides).map_err(|error| explained(error, &args.sides)).or_exit(Exit::Usage)?;
    let result = comparison::compared(&sides, &args.fail_if).map_err(|why| anyhow!(why)).or_exit(Exit::Usage)?;
    if let Some(path) = &args.html {
        folder::write_page(path, &comparison::page(&result, &sides)).or_exit(Exit::Usage)?;
    }
    match args.form.check() {
        Format::Text => print_text(&comparison::text(&result))?,
        Format::Json => print_json_pretty(&result)?,
        Format::Csv => print_text(&comparison::csv(&result))?,
        Format::Md => print_text(&comparison::markdown(&result))?,
    };
    if let Some(path) = &args.html {
        tracing::info!(file = path_text(path), "the page is written");
    }
    Ok(if result.failed.is_empty() { Exit::Ok } else { Exit::Invalid })
}

/// The error, with the command that compares probes where a side is the file of one.
fn explained(error: Error, sides: &[String]) -> Error {
    let is_probe = |side: &&String| {
        let path = Path::new(side);
        path.is_file() && input_text(path).is_ok_and(|text| of_text::<ProbeDocument>(&text).is_ok())
    };
    match sides.iter().find(is_probe) {
        Some(file) => error.context(format!("a probe's baseline is compared by `probe --against {file}`")),
        None => error,
    }
}
