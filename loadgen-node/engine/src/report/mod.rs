//! Results as text: pure functions from a finished [`crate::judge::Summary`] and the run's events to file contents.
//!
//! Nothing is computed or judged here, and nothing is written: clock, process id and files belong to the caller.

pub mod accuracy;
mod datetime;
pub mod detail;
mod result_keys;
mod settings_keys;
mod summary_text;
pub mod trace_log;

pub use result_keys::{extra_keys, result_keys};
pub use summary_text::{Trailer, accuracy_only_text, summary_text};

pub use crate::value::{Entry, Line, Value};
