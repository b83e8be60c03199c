//! The log on standard error: text for people, or JSON for machines. `RUST_LOG` selects what is logged.
//!
//! Numbers are logged in the unit that ends the name of their field (`took_ms`, `sent_bytes`). Lines of text have them
//! in the unit that fits (`took=1.5s`).

use std::collections::{HashSet, VecDeque};
use std::fmt::Debug;
use std::io::{self, IsTerminal as _, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};

use lon_proto::text::on_lines;
use tracing::field::Field;
use tracing_subscriber::filter::{ParseError, Targets};
use tracing_subscriber::fmt::format::{Writer, debug_fn};
use tracing_subscriber::fmt::{self, FormatFields};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::registry::Registry;
use tracing_subscriber::util::SubscriberInitExt as _;

use lon_proto::figures::{bytes, length_ns};

/// The format of the log; the values of `--log-format`.
///
/// `--help` shows their names alone: with a text for each, clap would print the help of every flag in its long form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "command-line", derive(clap::ValueEnum))]
pub enum LogFormat {
    /// Lines of text, in colour on a terminal.
    #[cfg_attr(feature = "command-line", value(help = None::<&'static str>))]
    Text,
    /// One JSON object a line.
    #[cfg_attr(feature = "command-line", value(help = None::<&'static str>))]
    Json,
}

/// The error for a `RUST_LOG` that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("RUST_LOG='{text}' (for example warn, or info,qdl=debug)")]
pub struct LogError {
    text: String,
    source: ParseError,
}

/// Starts the log of this process. `usual` is what is logged when `RUST_LOG` is not set, for example
/// `info,tract=warn`.
///
/// # Errors
/// A `RUST_LOG` that cannot be read.
///
/// # Panics
/// When the process already has a log.
pub fn start(format: LogFormat, usual: &str) -> Result<(), LogError> {
    let registry = Registry::default().with(filter(usual)?);
    // A log that cannot be written is no reason to stop, and must not become a panic.
    let lines = fmt::layer().with_writer(|| Out).log_internal_errors(false);
    match format {
        LogFormat::Text => registry.with(lines.with_ansi(has_colours()).fmt_fields(fields())).init(),
        LogFormat::Json => registry.with(lines.json()).init(),
    }
    Ok(())
}

/// Starts the log of a library as [`start`] does, as text, unless the process has a log already.
///
/// # Errors
/// A `RUST_LOG` that cannot be read.
pub fn start_if_none(usual: &str) -> Result<(), LogError> {
    let lines = fmt::layer().with_writer(|| Out).log_internal_errors(false).with_ansi(has_colours());
    let lines = lines.fmt_fields(fields());
    // It fails where there is a log already.
    let _ = Registry::default().with(filter(usual)?).with(lines).try_init();
    Ok(())
}

/// Returns the format of an event's fields in lines of text: the message, then each field after a blank.
fn fields() -> impl for<'writer> FormatFields<'writer> + Send + Sync + 'static {
    debug_fn(|out: &mut Writer<'_>, field: &Field, value: &dyn Debug| {
        let text = on_lines(&format!("{value:?}"));
        if field.name() == "message" {
            return out.write_str(&text);
        }
        // Where a library of the `log` crate has the line in its source: the line's target names the library.
        if field.name().starts_with("log.") {
            return Ok(());
        }
        out.write_char(' ')?;
        let (name, text) = fitting(field.name(), &text).unwrap_or((field.name(), text));
        match out.has_ansi_escapes() {
            true => write!(out, "\u{1b}[3m{name}\u{1b}[0m\u{1b}[2m=\u{1b}[0m{text}"),
            false => write!(out, "{name}={text}"),
        }
    })
}

/// A field whose name ends in the unit of its number: its name without the unit, and the number in one that fits.
fn fitting<'a>(name: &'a str, text: &str) -> Option<(&'a str, String)> {
    let number: u64 = text.parse().ok()?;
    if name == "bytes" {
        return Some((name, bytes(number)));
    }
    let (stem, unit) = name.rsplit_once('_').filter(|(stem, _)| !stem.ends_with("_per"))?;
    let length = |ns: u64| Some(length_ns(number.checked_mul(ns)?));
    let text = match unit {
        // Less than one of the unit: a smaller unit would pass for a measurement.
        "us" if number == 0 => Some("0µs".to_owned()),
        "ms" | "s" if number == 0 => Some(format!("0{unit}")),
        "ns" => length(1),
        "us" => length(1_000),
        "ms" => length(1_000_000),
        "s" => length(1_000_000_000),
        "bytes" => Some(bytes(number)),
        _ => None,
    };
    Some((stem, text?))
}

/// Returns the selection of logged events: levels, for all and by the start of a module's path. An empty `RUST_LOG`
/// counts as an unset one.
fn filter(usual: &str) -> Result<Targets, LogError> {
    let text = std::env::var("RUST_LOG").ok().filter(|text| !text.trim().is_empty());
    selection(text.unwrap_or_else(|| usual.to_owned()))
}

fn selection(text: String) -> Result<Targets, LogError> {
    text.parse().map_err(|source| LogError { text, source })
}

/// Lines of the log that are kept at most. Of more, the oldest are lost.
const MOST_KEPT: usize = 10_000;

/// Lines that wait to be written; none as long as they are written at once.
static BUFFER: Mutex<Option<LineBuffer>> = Mutex::new(None);

#[derive(Default)]
struct LineBuffer {
    lines: VecDeque<String>,
    lost: u64,
}

fn buffer() -> MutexGuard<'static, Option<LineBuffer>> {
    BUFFER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The log is kept, and not written, as long as this lives: for a program that has the terminal to itself. Then all of
/// it is written.
pub struct Diverted(());

/// Keeps the log from now on.
pub fn divert() -> Diverted {
    buffer().get_or_insert_default();
    Diverted(())
}

impl Diverted {
    /// The last lines that were kept, `most` at most.
    pub fn tail(&self, most: usize) -> Vec<String> {
        let buffer = buffer();
        let lines = buffer.iter().flat_map(|buffer| &buffer.lines);
        let count = buffer.as_ref().map_or(0, |buffer| buffer.lines.len());
        lines.skip(count.saturating_sub(most)).cloned().collect()
    }
}

impl Drop for Diverted {
    fn drop(&mut self) {
        let Some(LineBuffer { lines, lost }) = buffer().take() else { return };
        let mut out = io::stderr().lock();
        if lost > 0 {
            let _ = writeln!(out, "{lost} earlier lines of the log are lost: {MOST_KEPT} are kept");
        }
        for line in lines {
            let _ = writeln!(out, "{line}");
        }
    }
}

/// The lines since the log began to write each line once; `None` as long as it writes every line.
static LINE_SET: Mutex<Option<HashSet<String>>> = Mutex::new(None);

fn line_set() -> MutexGuard<'static, Option<HashSet<String>>> {
    LINE_SET.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A line that says the same as one before is left out as long as this lives: for a program that looks at several
/// things of which the same can be wrong.
pub struct Once(());

/// Writes each line once from now on.
pub fn once() -> Once {
    line_set().get_or_insert_default();
    Once(())
}

impl Drop for Once {
    fn drop(&mut self) {
        *line_set() = None;
    }
}

/// Returns true when a line is to be left out.
fn is_repeated(line: &[u8]) -> bool {
    let mut line_set = line_set();
    let Some(lines) = line_set.as_mut() else { return false };
    let line = String::from_utf8_lossy(line);
    // Without the time: a line of text begins with it, a JSON object has it before the level.
    let content = line.split_once("\"level\"").or_else(|| line.split_once(' ')).map_or(&*line, |(_, content)| content);
    !lines.insert(content.to_owned())
}

/// Where the log goes: each event is one write.
struct Out;

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match buffer().as_mut() {
            _ if is_repeated(bytes) => {}
            Some(buffer) => buffer.add(bytes),
            None => return io::stderr().write(bytes),
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

impl LineBuffer {
    fn add(&mut self, bytes: &[u8]) {
        self.lines.extend(String::from_utf8_lossy(bytes).lines().map(str::to_owned));
        let over = self.lines.len().saturating_sub(MOST_KEPT);
        self.lines.drain(..over);
        self.lost += over as u64;
    }
}

/// A terminal, where nobody has asked for no colours (<https://no-color.org>).
fn has_colours() -> bool {
    std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|text| text.is_empty())
}

#[cfg(test)]
mod tests {
    use tracing::Level;

    use super::*;

    #[test]
    fn levels_are_selected_by_the_start_of_a_path() {
        let selection = |text: &str| super::selection(text.to_owned());
        let usual = selection("info,tract=warn").unwrap();
        assert!(usual.would_enable("loadgen_node::run", &Level::INFO));
        assert!(!usual.would_enable("loadgen_node::run", &Level::DEBUG));
        assert!(usual.would_enable("tract_core::optim", &Level::WARN));
        assert!(!usual.would_enable("tract_core::optim", &Level::INFO));
        assert!(!selection("off").unwrap().would_enable("qdl", &Level::ERROR));
        for bad in ["qdl=loud", "a=b=c"] {
            let message = selection(bad).unwrap_err().to_string();
            assert!(message.contains(bad), "{message}");
        }
    }

    #[test]
    fn numbers_have_the_unit_that_fits() {
        for (name, number, fits) in [
            ("took_ms", "1500", Some(("took", "1.5s"))),
            ("p99_ns", "2345678", Some(("p99", "2.3ms"))),
            ("left_s", "90", Some(("left", "90.0s"))),
            ("ram_bytes", "963400000", Some(("ram", "963.40 MB"))),
            ("bytes", "12", Some(("bytes", "12 B"))),
            ("rate_per_s", "250", None),
            ("samples", "7", None),
            ("lag_ms", "soon", None),
            ("far_s", "18446744073709551615", None),
        ] {
            let field = fitting(name, number);
            assert_eq!(field.as_ref().map(|(name, text)| (*name, text.as_str())), fits, "{name}");
        }
    }

    #[test]
    fn lines_of_text_have_fields_as_people_read_them() {
        static LINES: Mutex<Vec<u8>> = Mutex::new(Vec::new());
        struct LineWriter;
        impl Write for LineWriter {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                LINES.lock().unwrap().extend(bytes);
                Ok(bytes.len())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let lines = fmt::layer().with_writer(|| LineWriter).with_ansi(false).without_time().fmt_fields(fields());
        tracing::subscriber::with_default(Registry::default().with(lines), || {
            let (none, file) = (None::<u64>, "x\u{1b}y");
            tracing::info!(run = "a b", log.line = 7, took_ms = 1_500, of = 3, none, %file, "it is \u{1b}over");
        });
        let text = String::from_utf8(LINES.lock().unwrap().clone()).unwrap();
        assert!(text.ends_with(": it is \u{fffd}over run=\"a b\" took=1.5s of=3 file=x\u{fffd}y\n"), "{text:?}");
    }

    /// The lock for tests that write to the log of the process.
    static ALONE: Mutex<()> = Mutex::new(());

    #[test]
    fn a_line_that_was_written_is_not_written_again() {
        let _alone = ALONE.lock().unwrap();
        assert!(
            !is_repeated(b"2026-01-01T00:00:00Z  WARN a: x\n") && !is_repeated(b"2026-01-01T00:00:00Z  WARN a: x\n")
        );
        let once = once();
        for (line, repeated) in [
            ("2026-01-01T00:00:01Z  WARN a: x\n", false),
            ("2026-01-01T00:00:02Z  WARN a: x\n", true),
            ("2026-01-01T00:00:02Z  WARN a: y\n", false),
            ("{\"timestamp\":\"1\",\"level\":\"WARN\",\"fields\":1}\n", false),
            ("{\"timestamp\":\"2\",\"level\":\"WARN\",\"fields\":1}\n", true),
        ] {
            assert_eq!(is_repeated(line.as_bytes()), repeated, "{line}");
        }
        drop(once);
        assert!(!is_repeated(b"2026-01-01T00:00:03Z  WARN a: x\n"));
    }

    #[test]
    fn lines_are_kept_while_the_log_is_diverted() {
        let _alone = ALONE.lock().unwrap();
        let diverted = divert();
        Out.write_all(b"one\ntwo\n").unwrap();
        Out.write_all(b"three\n").unwrap();
        assert_eq!((diverted.tail(2), diverted.tail(9).len()), (vec!["two".to_owned(), "three".to_owned()], 3));
        for _ in 0..MOST_KEPT {
            Out.write_all(b"more\n").unwrap();
        }
        assert_eq!(buffer().as_ref().map(|buffer| (buffer.lines.len(), buffer.lost)), Some((MOST_KEPT, 3)));
        *buffer() = None;
        drop(diverted);
        assert!(buffer().is_none());
    }
}
