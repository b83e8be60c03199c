//! In which form a command prints its table.

use clap::{Args, ValueEnum};

/// How a table is printed, as it is typed.
#[derive(Args, Debug, Clone, Copy)]
pub(crate) struct FormatArgs {
    /// What is printed.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
    /// Print JSON: --format json.
    #[arg(long, conflicts_with = "format", hide_short_help = true)]
    pub(crate) json: bool,
}

impl FormatArgs {
    /// What is printed.
    pub(crate) fn check(self) -> Format {
        if self.json { Format::Json } else { self.format }
    }
}

/// How a table is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Text,
    Json,
    Csv,
    Md,
}
