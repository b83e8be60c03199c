//! Traffic, reports and config files as JSON, for checking against other implementations of LoadGen.
//!
//! | file | what it turns into what |
//! |---|---|
//! | `form` | the text of a vector -> its input |
//! | `trace`, `listing` | settings -> the traffic that they generate; lists in full or as digests |
//! | `replay` | measured latencies -> summary file and result keys |
//! | `timeline` | a stored timeline -> the same, as it was or under other settings |
//! | `config` | config files -> the settings that change |
//!
//! The forms are those of the conformance vectors. Whole files of them are accepted as input: what they expect is
//! ignored. The commands `trace`, `replay` and `conf --config-vector` are made of this.

mod config;
mod form;
mod listing;
mod replay;
mod timeline;
mod trace;

pub use config::config_json;
pub use form::VectorError;
pub use replay::replay_report;
pub use timeline::{RejudgeError, replay_timeline};
pub use trace::trace_json;
