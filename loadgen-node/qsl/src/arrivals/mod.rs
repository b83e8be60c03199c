//! Traces of arrivals: files of others, and our own, as the times at which queries are due.
//!
//! From the top down; a file uses only those below it:
//!
//! - `trace_file`: a file becomes a trace: plain or gzip, its sum, its rows;
//! - `shape`: seconds are filled, a window is cut, the rate is scaled, the trace repeats;
//! - `columns`: the rows of a file, checked and in order;
//! - `parser`: the format by header or keys, never by the name of the file;
//! - `table`: CSV with a header: Azure, BurstGPT, and our own;
//! - `json`: an object a line: Mooncake, Bailian, and others with a unit;
//! - `number_lines`: lines of numbers without a header: vegeta, and gaps;
//! - `lines`: the lines of a text, within limits;
//! - `trace`: the result, and the facts about its file;
//! - `spec`: the words by which a user names a trace;
//! - `row`: one row, and the fields of a line;
//! - `date`: dates as times;
//! - `unit`: units of times, and durations that users write;
//! - `scale`: the factor of the rate;
//! - `decimal`: decimal digits as whole nanoseconds, without floating point;
//! - `format`: the formats and their names;
//! - `error`: the reasons why a trace is refused.

mod columns;
mod date;
mod decimal;
mod error;
mod format;
mod json;
mod lines;
mod number_lines;
mod parser;
mod row;
mod scale;
mod shape;
mod spec;
mod table;
#[cfg(test)]
mod tests;
mod trace;
mod trace_file;
mod unit;

pub use error::{ArrivalError, TraceSpecError};
pub use format::TraceFormat;
pub use scale::Scale;
pub use spec::{Fails, GRAMMAR, TraceSpec, Window, WithinSecond};
pub use trace::{ArrivalTrace, DroppedRows, TraceFacts};
pub use trace_file::read;
pub use unit::TimeUnit;
