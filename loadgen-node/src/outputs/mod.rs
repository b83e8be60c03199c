//! Outputs of a run: the files that it leaves behind, and the text that is shown when it is over.
//!
//! - `record`: a test that leaves a run folder;
//! - `folder`: the run folder; `write_order`: in which order it is filled; `faults`: how tests let that fail;
//! - `journal`: what is on the disk while a run goes on; `recover`: what can be made of it when it was killed;
//! - `qdl_files`: what is written beside the logs of another engine that led a run;
//! - `logs`: the official log files in it; `documents`: its JSON documents; `diagram`: the picture of the
//!   system;
//! - `screen`: the result for people, with lines from `tokens`, `network_lines`, `search_lines` and
//!   `settings_line`; `paint`: colours of verdicts;
//! - `latencies`: how latencies and their limits read; `labels`: how labels of a run read;
//! - `conf_text`: the settings for people;
//! - `accuracy_log`: the accuracy log of a run folder, read, whole or from its backup;
//! - `own_result`: the result of a run folder, held against the logs beside it;
//! - `report`: the run as one HTML page;
//! - `table`: tables that commands print; `parquet`: tables for other programs;
//! - `samples`: the samples of a run folder as rows, for other programs;
//! - `stored_timeline`: the timeline of a run, read; `stages`: node and stages of each of its samples;
//! - `official_logs`: the files of an official LoadGen, read; `audit_folder`: folders that are audited, and what
//!   submissions have of an audit.

pub(crate) mod accuracy_log;
pub(crate) mod audit_folder;
pub(crate) mod conf_text;
pub(crate) mod diagram;
pub mod documents;
mod faults;
pub(crate) mod folder;
mod journal;
pub(crate) mod labels;
pub(crate) mod latencies;
pub(crate) mod logs;
pub(crate) mod network_lines;
pub(crate) mod official_logs;
pub(crate) mod own_result;
pub(crate) mod paint;
pub(crate) mod parquet;
pub mod qdl_files;
pub(crate) mod record;
pub(crate) mod recover;
pub(crate) mod report;
pub(crate) mod samples;
pub(crate) mod screen;
mod search_lines;
mod settings_line;
pub(crate) mod stages;
pub(crate) mod stored_timeline;
pub(crate) mod table;
pub(crate) mod tokens;
pub(crate) mod write_order;
