//! What a run leaves behind, and what it shows.
//!
//! - `record`: a test that leaves a run folder;
//! - `folder`: the run folder; `logs`: the official log files in it; `documents`: its JSON documents;
//! - `screen`: the result for people, with lines from `tokens` and `network_lines`; `progress`: how far a run is;
//! - `conf_text`: the settings for people.

pub(crate) mod conf_text;
pub mod documents;
pub(crate) mod folder;
pub(crate) mod logs;
pub(crate) mod network_lines;
pub(crate) mod progress;
pub(crate) mod record;
pub(crate) mod screen;
pub(crate) mod tokens;
