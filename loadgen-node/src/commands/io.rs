//! Files that commands read whole, and standard output.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::Path;

use anyhow::{Context as _, anyhow};
use lon_proto::text::on_one_line;
use serde::Serialize;

use crate::cli::Format;
use crate::exit::{Exit, OrExit as _, Outcome};
use crate::outputs::paint;
use crate::outputs::table::Table;

/// Most bytes that are read of what is no regular file: a pipe has an end, `/dev/zero` has none.
const MAX_PIPE_BYTES: u64 = 64 << 20;

pub(crate) fn read(path: &Path) -> Outcome<String> {
    read_within(path, MAX_PIPE_BYTES).with_context(|| format!("cannot read {}", shown(path))).or_exit(Exit::Usage)
}

fn read_within(path: &Path, max_pipe_bytes: u64) -> io::Result<String> {
    let file = File::open(path)?;
    let most = if file.metadata()?.is_file() { u64::MAX } else { max_pipe_bytes };
    let mut text = String::new();
    let mut part = file.take(most);
    part.read_to_string(&mut text)?;
    if part.limit() == 0 {
        let told = format!("it is no file, and has no end within {max_pipe_bytes} bytes");
        return Err(io::Error::new(io::ErrorKind::InvalidData, told));
    }
    Ok(text)
}

pub(crate) fn shown(path: &Path) -> String {
    on_one_line(&path.display().to_string())
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
    print(&serde_json::to_string_pretty(document).or_exit(Exit::Bug)?)
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
        // Whoever reads has seen enough (`| head`).
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Exit::Ok),
        Err(error) => Err(anyhow!(error)).or_exit(Exit::Bug),
        Ok(()) => Ok(Exit::Ok),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_end_is_not_read_for_ever() {
        let refused = read_within(Path::new("/dev/zero"), 1000).unwrap_err();
        assert_eq!(refused.to_string(), "it is no file, and has no end within 1000 bytes");
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "x".repeat(2000)).unwrap();
        assert_eq!(read_within(file.path(), 1000).unwrap().len(), 2000);
    }
}
