//! `systems/SYSTEM.json`: what the runs found of the system, and over it what the submission's file states; with the
//! official keys and no others.

use anyhow::{Result, bail};
use serde_json::{Map, Value};

use super::checked::Submission;
use super::division::SubmissionDivision;
use lon_run::outputs::documents::system_desc::{SystemDesc, key_help};
use lon_run::test_run::system_facts::{NETWORK_KEYS, SYSTEM_KEYS, is_official};

/// Returns true when the official checker asks for a text under a key of every system or of the network mode.
pub(super) fn must_have_a_text(key: &str) -> bool {
    !MAY_BE_EMPTY.contains(&key)
}

/// Keys that must be there and may be empty (section "system description" of the official checker).
const MAY_BE_EMPTY: [&str; 9] = [
    "host_processor_frequency",
    "host_processor_caches",
    "host_processor_interconnect",
    "accelerator_interconnect_topology",
    "accelerator_frequency",
    "accelerator_on-chip_memories",
    "system_type_detail",
    "hw_notes",
    "sw_notes",
];

/// The official description of the system that made a run.
///
/// # Errors
/// A key that must have a text has none; all of them are named, each with what belongs there.
pub(super) fn official(submission: &Submission, desc: &SystemDesc) -> Result<Map<String, Value>> {
    let official = filled(submission, desc);
    let missing = missing(submission, &official);
    if !missing.is_empty() {
        let lines: Vec<String> = missing.iter().map(|key| format!("\n  {key} = \"\"   # {}", key_help(key))).collect();
        bail!("[system-description] lacks what no run can know; write into the file:{}", lines.concat());
    }
    Ok(official)
}

fn filled(submission: &Submission, desc: &SystemDesc) -> Map<String, Value> {
    let mut official = desc.official.clone();
    official.retain(|key, _| is_official(key));
    for (key, text) in &submission.description {
        official.insert(key.clone(), text.clone().into());
    }
    let top = [("division", submission.division.name()), ("submitter", &submission.submitter), ("is_network", "True")];
    for (key, text) in top {
        official.insert(key.to_owned(), text.into());
    }
    official
}

fn missing(submission: &Submission, official: &Map<String, Value>) -> Vec<&'static str> {
    let is_empty = |key: &&str| official.get(*key).and_then(Value::as_str).is_none_or(|text| text.trim().is_empty());
    let network = NETWORK_KEYS.into_iter().filter(|_| submission.division == SubmissionDivision::Network);
    let all = SYSTEM_KEYS.into_iter().filter(|key| must_have_a_text(key)).chain(network);
    all.filter(is_empty).collect()
}
