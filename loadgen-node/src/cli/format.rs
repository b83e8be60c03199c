//! In which form a command prints its table.

use clap::{Args, ValueEnum};

/// The format of a table, as it is typed.
#[derive(Args, Debug, Clone, Copy)]
pub(crate) struct FormatArgs {
    /// The output format.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
    /// Print JSON: --format json.
    #[arg(long, conflicts_with = "format")]
    pub(crate) json: bool,
}

impl FormatArgs {
    /// Returns the output format.
    pub(crate) fn check(self) -> Format {
        if self.json { Format::Json } else { self.format }
    }
}

/// The format of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Text,
    Json,
    Csv,
    Md,
}
