//! Traffic, reports and settings as JSON documents, for checking against other implementations of LoadGen.
//!
//! | file | what it turns into what |
//! |---|---|
//! | `form` | the text of a vector -> its input |
//! | `trace`, `listing` | settings -> the traffic that they generate; its lists, in full or as digests |
//! | `logged_answers` | settings -> the answers that a run logs while it is measured |
//! | `replay` | measured latencies -> summary file and result keys |
//! | `timeline` | a stored timeline -> the same, as it was or under other settings |
//! | `config` | config files -> the settings that change |
//!
//! The documents have the form of what the conformance vectors expect. Whole files of these vectors are accepted as
//! input, and what they expect is ignored. The commands `trace`, `replay` and `conf` print these documents.

mod config;
mod form;
mod listing;
mod logged_answers;
mod replay;
mod timeline;
mod trace;

pub use config::{ConfigCase, config_cases};
pub use form::VectorError;
pub use listing::{ListDigest, Numbers};
pub use logged_answers::logged_answers;
pub(crate) use replay::report;
pub use replay::{ReplayedReport, replay_report};
pub use timeline::{RejudgeError, Rejudged, replay_timeline};
pub use trace::{AllSamples, LoggedSamples, PhaseTraffic, TrafficTrace, trace, trace_by, traffic};
