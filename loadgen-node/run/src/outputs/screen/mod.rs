//! The result of a run for people.
//!
//! - `result`: the text at the end of a run; `tokens`, `network_lines`, `search_lines`, `settings_line`: lines of it;
//! - `latencies`: how latencies and their limits read; `labels`: how labels of a run read;
//! - `paint`: colours of verdicts;
//! - `conf_text`: the settings for people.

pub mod conf_text;
pub mod labels;
pub(crate) mod latencies;
pub(crate) mod network_lines;
pub mod paint;
mod result;
pub(crate) mod search_lines;
mod settings_line;
pub(crate) mod tokens;

pub use result::{FILE, of_document, show, text, verdict_words};
