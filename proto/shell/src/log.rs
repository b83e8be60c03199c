//! The log on standard error: text for people, or JSON for machines. `RUST_LOG` selects what is logged.

use std::io::IsTerminal as _;

use clap::ValueEnum;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::ParseError;

/// How the log is written; the values of `--log-format`.
///
/// `--help` shows their names alone: with a text for each, clap would print the help of every flag in its long form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// Lines of text, in colour on a terminal.
    #[value(help = None::<&'static str>)]
    Text,
    /// One JSON object a line.
    #[value(help = None::<&'static str>)]
    Json,
}

/// The error for a `RUST_LOG` that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("RUST_LOG='{text}'")]
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
    let filter = filter(usual)?;
    // A log that cannot be written is no reason to stop, and must not become a panic.
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).log_internal_errors(false);
    match format {
        LogFormat::Text => log.with_ansi(has_colours()).init(),
        LogFormat::Json => log.json().init(),
    }
    Ok(())
}

/// Starts the log of a library as [`start`] does, as text, unless the process has a log already.
///
/// # Errors
/// A `RUST_LOG` that cannot be read.
pub fn start_if_none(usual: &str) -> Result<(), LogError> {
    let log = tracing_subscriber::fmt().with_env_filter(filter(usual)?).with_writer(std::io::stderr);
    // It fails where there is a log already.
    let _ = log.log_internal_errors(false).with_ansi(has_colours()).try_init();
    Ok(())
}

/// What is logged.
fn filter(usual: &str) -> Result<EnvFilter, LogError> {
    match std::env::var("RUST_LOG") {
        Ok(text) => EnvFilter::try_new(&text).map_err(|source| LogError { text, source }),
        Err(_) => Ok(EnvFilter::new(usual)),
    }
}

/// A terminal, where nobody has asked for no colours (<https://no-color.org>).
fn has_colours() -> bool {
    std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|text| text.is_empty())
}
