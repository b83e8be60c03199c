//! The command `dataset`: the files of a dataset, held against what a benchmark promises.

use anyhow::anyhow;
use loadgen::conf::rules::Rules;
use lon_qsl::benchmark::Benchmark;

use super::io::{path_text, print_in, print_text};
use crate::cli::{DatasetArgs, DatasetCommand, VerifyArgs};
use crate::display::steps::steps;
use lon_run::exit::{Exit, OrExit as _, Outcome};
use lon_run::outputs::documents::dataset_verified::DatasetVerified;

/// Does what the command asks for.
pub(crate) fn dataset(args: &DatasetArgs) -> Outcome {
    match &args.what {
        DatasetCommand::Verify(args) => verify(args),
    }
}

/// Prints what was found, and ends as a run does: INVALID when anything is wrong.
fn verify(args: &VerifyArgs) -> Outcome {
    let benchmark = Benchmark::named(&args.benchmark).or_exit(Exit::Usage)?;
    let path = &args.path;
    if !path.exists() {
        return Err(anyhow!("{}: there is no such file or folder", path_text(path))).or_exit(Exit::Usage);
    }
    let round = args.rules.unwrap_or_else(Rules::newest).round.name;
    let verified = benchmark.verify(path, round, &steps("verifying dataset"));
    let document = DatasetVerified::new(&path_text(path), benchmark.name, round, verified);
    print_in(args.form.check(), &document, || print_text(&document.text()), || document.table())?;
    Ok(if document.is_good() { Exit::Ok } else { Exit::Invalid })
}
