//! The logs of the official LoadGen, judged again: settings, results and verdict, each held against what this engine
//! makes of them.
//!
//! | file | what it has |
//! |---|---|
//! | `detail_log`, `trace_log`, `token_counts` | the files of an official run -> what stands in them |
//! | `error` | [`LogError`]: file, line and what is wrong there |
//! | `digits` | numbers of which the log has six digits |
//! | `statements` | the requested settings -> plans of this engine |
//! | `requested` | the requested settings of a log, for other rooms |
//! | `phase` | the trace -> what was measured |
//! | `ranks` | latencies of which only percentiles are known |
//! | `phase_facts` | what was measured, as far as the logs have it |
//! | `loaded_sets` | the logged sets -> whether some release's rules draw them |
//! | `table` | two lists of names and texts -> what is the same and what is not |
//! | `compare` | [`compare()`]: logs -> [`Comparison`] |
//! | `release` | what the logs of each release have |
//! | `quantity` | [`Comparison`] and its [`Quantity`]s |
//!
//! With a trace every latency is known to the ns, and every result is compared to the digit. Without one, a result is
//! compared if it follows from the settings and the other results.

mod compare;
mod detail_log;
mod digits;
mod error;
mod loaded_sets;
mod phase;
mod phase_facts;
mod quantity;
mod ranks;
mod release;
mod requested;
mod statements;
mod table;
mod token_counts;
mod trace_log;

#[cfg(test)]
mod tests;

pub use compare::{Logs, SUMMARY_FILE, compare, compare_by};
pub use detail_log::{DETAIL_FILE, DetailLog};
pub use error::LogError;
pub use quantity::{Agreement, Comparison, Part, Quantity, TraceExtent};
pub use release::is_read;
pub use requested::{Requested, requested};
pub use statements::MAX_LIBRARY;
pub use table::{MARK, TAKEN, UNKNOWN};
pub use token_counts::{ACCURACY_FILE, TokenCounts};
pub use trace_log::{TRACE_FILE, TraceLog};
