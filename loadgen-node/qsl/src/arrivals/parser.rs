//! The parser of a file's lines, by the format that its first line says.

use super::decimal;
use super::format::TraceFormat;
use super::json::{self, JsonLines};
use super::number_lines::{self, Gaps};
use super::row::Row;
use super::spec::TraceSpec;
use super::table::{self, Table};

/// The parser of one format.
pub(super) enum Parser {
    Table(Table),
    Json(JsonLines),
    Vegeta,
    Gaps(Gaps),
}

impl Parser {
    /// The parser for a file with this first line.
    ///
    /// # Errors
    /// The format is unknown, or does not go with the options.
    pub(super) fn begin(first: &str, spec: &TraceSpec) -> Result<Parser, String> {
        let format = spec.format.map_or_else(|| recognise(first), Ok)?;
        spec.check(format)?;
        if let Some(table) = Table::below(first, format) {
            return table.map(Parser::Table);
        }
        if let Some(lines) = JsonLines::of(format, spec.unit, spec.format.is_some()) {
            return Ok(Parser::Json(lines));
        }
        Ok(match spec.unit {
            Some(unit) => Parser::Gaps(Gaps::of(unit)),
            None => Parser::Vegeta,
        })
    }

    /// Tells whether the first line is a header, and no row.
    pub(super) fn has_header(&self) -> bool {
        matches!(self, Parser::Table(_))
    }

    pub(super) fn format(&self) -> TraceFormat {
        match self {
            Parser::Table(table) => table.format(),
            Parser::Json(lines) => lines.format(),
            Parser::Vegeta => TraceFormat::Vegeta,
            Parser::Gaps(_) => TraceFormat::Gaps,
        }
    }

    /// The row in a line.
    ///
    /// # Errors
    /// The line is not what the format says.
    pub(super) fn row<'a>(&mut self, line: &'a str) -> Result<Row<'a>, String> {
        match self {
            Parser::Table(table) => table.row(line),
            Parser::Json(lines) => lines.row(line),
            Parser::Vegeta => number_lines::vegeta(line),
            Parser::Gaps(gaps) => gaps.row(line),
        }
    }
}

fn recognise(first: &str) -> Result<TraceFormat, String> {
    if first.starts_with('{') {
        return json::recognise(first);
    }
    table::recognise(first).or_else(|| number_lines::recognise(first)).ok_or_else(|| {
        let formats: Vec<String> =
            TraceFormat::ALL.iter().map(|format| format!("{format} ({})", format.signs())).collect();
        format!("'{}' begins no trace of a known format: {}", decimal::start_of(first), formats.join("; "))
    })
}
