//! The JSON documents, one file each, with the type that it is written and read by.
//!
//! A document is made of facts that were gathered before (`From`), and nothing is decided here. Every key is a field
//! with its unit and with when it is null or absent. Readers ignore keys that they do not know: later versions add
//! some. Names of scenarios, modes, transports and codecs are texts, because their lists are open.
//!
//! - `result_summary`, `network_report`, `system_desc`, `find_peak`: files of the run folder; `result_read`: reads the
//!   first of them, unless it contradicts itself;
//! - `arrivals`, `bench_baseline`, `limiting_cause`, `bursts`, `counts`, `v05_intervals`, `lag`, `division`,
//!   `provenance`, `metric`, `network_summary`, `saturation`, `token_figures`, `validity`, `within`: parts of
//!   `result_summary`; `sut_setup`: part of it and of `system_desc`;
//! - `qdl_result`: beside the logs of another engine that led a run;
//! - `probe`, `conf`, `conformance`, `fleet`, `accuracy`, `comparison`, `run_list`, `schema_list`: what the commands of
//!   these names print with `--json` (the last three: `compare`, `list` and `schema`); `inferred`: what `infer` prints;
//!   `codec_advice`: what
//!   `run --compression auto` prints;
//!   `repeats`: what `run --repeat` prints and writes; `mix_result`: what `run --mix` does;
//!   `mix_search`: part of it;
//!   `accuracy_subset`: what `accuracy` prints of a performance run; `official_replay`: what `replay --official` does;
//!   `scores`: what `accuracy --scorer` does; `audit_result`: what `audit` does, and writes;
//!   `dataset_verified`: what `dataset verify` does;
//!   `submission_plan`, `submission_check`: what `submission plan` and `submission check` do; `submission_step`: what
//!   `submission run` leaves in run folders; `probe/changes`, `probe/matrix`, `probe/needs`: parts of `probe`;
//!   `watch`: what `probe --watch` prints;
//!   `campaign`, `campaign_run`: files of a campaign's folder; `campaign_table`, `campaign_doctor`: what the commands
//!   `campaign table` and `campaign doctor` print;
//! - `key_help`: what belongs under the keys of a system description that are empty;
//! - `other_score`: part of `accuracy` and `accuracy_subset`;
//! - `schemas`: the JSON Schemas of all of them;
//! - `parts`: what several of them have; `ordered_map`: objects whose keys are data.
//!
//! Types of other crates: [`SearchRecord`](loadgen::run::SearchRecord) (`find_peak.json`),
//! [`vectors`](loadgen::vectors) (`trace` and `replay`), [`ConfigCase`](loadgen::vectors::ConfigCase)
//! (`conf --config-vector`), [`BenchReport`](lon_shell::documents::BenchReport) (`--baseline`).

pub mod accuracy;
pub mod accuracy_subset;
pub mod arrivals;
pub mod audit_result;
pub mod bench_baseline;
pub mod bursts;
pub mod campaign;
pub mod campaign_doctor;
pub mod campaign_run;
pub mod campaign_table;
pub mod codec_advice;
pub mod comparison;
pub mod conf;
pub mod conformance;
pub mod counts;
pub mod dataset_verified;
pub mod division;
pub mod find_peak;
pub mod fleet;
pub mod inferred;
mod key_help;
pub mod lag;
pub mod limiting_cause;
pub mod metric;
pub mod mix_result;
pub mod mix_search;
pub mod network_report;
pub mod network_summary;
pub mod official_replay;
mod ordered_map;
pub mod other_score;
pub mod parts;
pub mod probe;
pub mod provenance;
pub mod qdl_result;
pub mod repeats;
pub mod result_read;
pub mod result_summary;
pub mod run_list;
pub mod saturation;
pub mod schema_list;
pub mod schemas;
pub mod scores;
pub mod submission_check;
pub mod submission_plan;
pub mod submission_step;
pub mod sut_setup;
pub mod system_desc;
pub mod token_figures;
pub mod v05_intervals;
pub mod validity;
pub mod within;

use std::io::{self, Write};

use serde::Serialize;

/// Writes a document as it stands in the run folder: indented, with a line end.
///
/// # Errors
/// `out` cannot be written to.
pub fn write(out: &mut dyn Write, document: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, document).map_err(io::Error::from)?;
    out.write_all(b"\n")
}

/// Writes a document and reads it again, which must give an equal one; its JSON.
#[cfg(test)]
fn reads_back<T>(document: &T) -> serde_json::Value
where
    T: Serialize + serde::de::DeserializeOwned + PartialEq + std::fmt::Debug,
{
    let text = serde_json::to_string_pretty(document).unwrap();
    assert_eq!(serde_json::from_str::<T>(&text).unwrap(), *document);
    serde_json::from_str(&text).unwrap()
}
