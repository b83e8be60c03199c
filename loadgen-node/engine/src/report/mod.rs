//! The official files as text, made from a finished [`crate::judge::Summary`] and the run's events.
//!
//! Nothing is computed or judged here, and nothing is written: clock, process id and files belong to the caller.
//!
//! | file | what it makes |
//! |---|---|
//! | `summary_text` | `mlperf_log_summary.txt` |
//! | [`detail`] | `mlperf_log_detail.txt`, with the keys of `settings_keys` and `result_keys` |
//! | [`accuracy`] | `mlperf_log_accuracy.json`, one entry at a time |
//! | [`trace_log`] | `mlperf_log_trace.json` |
//! | `datetime` | moments as the detail log has them |

pub mod accuracy;
pub(crate) mod datetime;
pub mod detail;
mod result_keys;
mod settings_keys;
mod summary_text;
pub mod trace_log;

pub use result_keys::{extra_keys, result_keys};
pub(crate) use settings_keys::settings_keys;
pub use summary_text::{Trailer, accuracy_only_text, summary_text};

pub use crate::value::{Entry, Line, Value};
