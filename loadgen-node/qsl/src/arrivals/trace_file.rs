//! A file becomes a trace. It is read once, in pieces: a pipe, a device or a file without an end holds nobody up.

use std::io::{self, BufRead, BufReader};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;
use lon_proto::files::{self, Limit};
use lon_proto::sums::Summing;

use super::columns::{Columns, Taken};
use super::error::{ArrivalError, LineFault};
use super::format::TraceFormat;
use super::lines::{Lines, MAX_TEXT_BYTES};
use super::parser::Parser;
use super::shape::shape;
use super::spec::{Fails, TraceSpec};
use super::trace::{ArrivalTrace, DroppedRows, TraceFacts};

/// The first bytes of a file that is packed with gzip.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Bytes that are read at once.
const PIECE_BYTES: usize = 1 << 18;

/// Reads a trace. The seed is that of times that are drawn (`within-second=uniform`).
///
/// # Errors
/// The file cannot be read, a line is not what its format says, or the options do not suit the trace.
pub fn read(spec: &TraceSpec, seed: u32) -> Result<ArrivalTrace, ArrivalError> {
    let path = &spec.path;
    let refused = |reason| ArrivalError::Trace { file: path.clone(), reason };
    let File { mut columns, format, is_gzip, sha256, bytes } = file(path, spec)?;
    if columns.time_ns.is_empty() {
        return Err(refused(match columns.rows {
            0 => "it has no rows".to_owned(),
            rows => format!("all {rows} rows failed in the source, and fails=drop leaves them out"),
        }));
    }
    columns.sort();
    let row_count = columns.time_ns.len() as u64;
    let dropped_failed = columns.rows - row_count;
    let repeat_ns = shape(&mut columns, format, spec, seed).map_err(refused)?;
    let outside_window = row_count - columns.time_ns.len() as u64;
    let Columns { time_ns, samples, tokens_in, tokens_out, first, last, rows, failed, out_of_order, .. } = columns;
    let dropped = DroppedRows { failed: dropped_failed, outside_window };
    let facts = TraceFacts { format, is_gzip, bytes, sha256, rows, failed, out_of_order, dropped, first, last };
    Ok(ArrivalTrace { due_ns: time_ns, samples, tokens_in, tokens_out, repeat_ns, facts })
}

/// The rows of a file, in its order, and the file's sum.
struct File {
    columns: Columns,
    format: TraceFormat,
    is_gzip: bool,
    sha256: String,
    bytes: u64,
}

fn file(path: &Path, spec: &TraceSpec) -> Result<File, ArrivalError> {
    let unreadable = |source| ArrivalError::Read { file: path.to_owned(), source };
    let file = files::open(path, Limit::bytes(MAX_TEXT_BYTES)).map_err(unreadable)?;
    let mut summing = Summing::new(file);
    let mut reader = BufReader::with_capacity(PIECE_BYTES, &mut summing);
    let is_gzip = reader.fill_buf().map_err(unreadable)?.starts_with(&GZIP);
    let rows = match is_gzip {
        true => rows(BufReader::with_capacity(PIECE_BYTES, MultiGzDecoder::new(reader)), spec),
        false => rows(reader, spec),
    };
    let (columns, format) = rows.map_err(|fault| located(path, fault))?;
    // Bytes that no row needed belong to the sum.
    io::copy(&mut summing, &mut io::sink()).map_err(unreadable)?;
    let (sha256, bytes) = summing.finish();
    Ok(File { columns, format, is_gzip, sha256, bytes })
}

fn located(path: &Path, LineFault { line, reason }: LineFault) -> ArrivalError {
    let file = path.to_owned();
    match line {
        0 => ArrivalError::Trace { file, reason },
        line => ArrivalError::Line { file, line, reason },
    }
}

fn rows(reader: impl BufRead, spec: &TraceSpec) -> Result<(Columns, TraceFormat), LineFault> {
    let taken = Taken { drops_failed: spec.fails == Some(Fails::Drop), any_order: spec.sort };
    let mut lines = Lines::of(reader);
    let mut columns = Columns::default();
    let Some((line, first)) = lines.next()? else {
        return Err(LineFault { line: 0, reason: "it is empty: a trace has a row for each query".to_owned() });
    };
    let refused = |line| move |reason| LineFault { line, reason };
    let mut parser = Parser::begin(first, spec).map_err(refused(line))?;
    if !parser.has_header() {
        let row = parser.row(first).map_err(refused(line))?;
        columns.push(&row, taken).map_err(refused(line))?;
    }
    while let Some((line, text)) = lines.next()? {
        let row = parser.row(text).map_err(refused(line))?;
        columns.push(&row, taken).map_err(refused(line))?;
    }
    Ok((columns, parser.format()))
}
