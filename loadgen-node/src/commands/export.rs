//! The command `export`: the samples of a run for other programs, a row each.

use std::io::{self, BufWriter};
use std::path::Path;

use anyhow::anyhow;

use super::io::path_text;
use crate::cli::{ExportArgs, ExportForm};
use lon_run::exit::{Exit, OrExit as _, Outcome};
use lon_run::outputs::run_folder::folder;
use lon_run::outputs::samples::{Recording, csv, parquet};

/// Writes the rows to a file or to standard output, one after the other.
pub(crate) fn export(args: &ExportArgs) -> Outcome {
    if args.out.is_none() && args.to != ExportForm::Csv {
        let error = anyhow!("--to parquet needs --out FILE: only CSV goes to standard output");
        return Err(error).or_exit(Exit::Usage);
    }
    let mut recording = Recording::open(&args.folder).or_exit(Exit::Usage)?;
    match &args.out {
        Some(path) => to_file(&mut recording, args.to, path),
        None => match csv::write(&mut recording, &mut BufWriter::new(io::stdout().lock())) {
            // The reader closed the pipe because it has seen enough.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Exit::Ok),
            outcome => outcome.map(|()| Exit::Ok).or_exit(Exit::Bug),
        },
    }
}

/// Into a file, which takes its name when it is whole.
fn to_file(recording: &mut Recording, form: ExportForm, path: &Path) -> Outcome {
    if path.exists() {
        return Err(anyhow!("--out {}: it is there already", path_text(path))).or_exit(Exit::Usage);
    }
    let outcome = folder::write_file(path, |out| match form {
        ExportForm::Csv => csv::write(recording, out),
        ExportForm::Parquet => parquet::write(recording, out),
    });
    outcome.or_exit(Exit::Bug)?;
    Ok(Exit::Ok)
}
