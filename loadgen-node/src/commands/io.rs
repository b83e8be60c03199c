//! Texts that commands read whole, new files, and standard output.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;

use anyhow::{Context as _, anyhow};
use lon_proto::files::{self, Limit};
use lon_proto::text::{on_lines, on_one_line};
use serde::Serialize;

use crate::cli::Format;
use lon_run::exit::{Exit, OrExit as _, Outcome};
use lon_run::outputs::documents;
use lon_run::outputs::screen::paint;
use lon_run::outputs::tables::table::Table;

/// The text of a file in a run folder, with lines of what can be seen.
pub(crate) fn read(path: &Path) -> Outcome<String> {
    let text = files::text(path, Limit::LOG).map(|text| on_lines(&text));
    text.with_context(|| format!("cannot read {}", path_text(path))).or_exit(Exit::Usage)
}

/// The text of what the user has named, which may be a pipe.
pub(crate) fn input_text(path: &Path) -> Outcome<String> {
    files::user_text(path).with_context(|| format!("cannot read {}", path_text(path))).or_exit(Exit::Usage)
}

pub(crate) fn path_text(path: &Path) -> String {
    on_one_line(&path.display().to_string())
}

/// Writes a file that is not there yet.
pub(crate) fn write_new(file: &Path, text: &str) -> Outcome<()> {
    let cannot = || format!("cannot write {}", path_text(file));
    match File::create_new(file) {
        Ok(mut out) => out.write_all(text.as_bytes()).with_context(cannot),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            Err(anyhow!("{} is there already: it is never overwritten", path_text(file)))
        }
        Err(error) => Err(error).with_context(cannot),
    }
    .or_exit(Exit::Usage)
}

/// Prints a text and a line end.
pub(crate) fn print(text: &str) -> Outcome {
    print_text(&format!("{text}\n"))
}

/// Prints a JSON document on one line.
pub(crate) fn print_json(document: &impl Serialize) -> Outcome {
    print(&serde_json::to_string(document).or_exit(Exit::Bug)?)
}

/// Prints a JSON document on several lines, indented.
pub(crate) fn print_json_pretty(document: &impl Serialize) -> Outcome {
    // By the way of the run folder: other ways would be compiled beside it, for each document.
    let mut text = Vec::new();
    documents::write(&mut text, document).or_exit(Exit::Bug)?;
    print_text(&String::from_utf8(text).or_exit(Exit::Bug)?)
}

/// Prints a document in the form that was asked for: `text` prints it for people, `table` has it as rows.
pub(crate) fn print_in(
    form: Format,
    document: &impl Serialize,
    text: impl FnOnce() -> Outcome,
    table: impl FnOnce() -> Table,
) -> Outcome {
    match form {
        Format::Text => text(),
        Format::Json => print_json_pretty(document),
        Format::Csv => print_text(&table().csv()),
        Format::Md => print_text(&table().markdown()),
    }
}

/// Prints a text whose lines may begin with a verdict: in colour on a terminal.
pub(crate) fn print_verdict(text: &str) -> Outcome {
    paint::print(text).or_exit(Exit::Bug).map(|()| Exit::Ok)
}

pub(crate) fn print_text(text: &str) -> Outcome {
    match io::stdout().lock().write_all(text.as_bytes()) {
        // The reader closed the pipe because it has seen enough (`| head`).
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Exit::Ok),
        Err(error) => Err(anyhow!(error)).or_exit(Exit::Bug),
        Ok(()) => Ok(Exit::Ok),
    }
}
