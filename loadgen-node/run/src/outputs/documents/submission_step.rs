//! `submission_step.json`: what a run of a submission was made of. `submission run` writes it into the run folder when
//! all else is there.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Name in the run folder.
pub const FILE: &str = "submission_step.json";

/// The version of [`StepRecord`].
pub const SCHEMA: u32 = 1;

/// Inputs and command of a run of a submission.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StepRecord {
    /// Version of this form: 1.
    #[cfg_attr(test, schemars(extend("const" = SCHEMA)))]
    pub schema: u32,
    /// Purpose of the run: `accuracy`, `performance`, or the name of a compliance test.
    pub kind: String,
    /// The words that made the run: those behind this program's name, or of another program all.
    pub command: Vec<String>,
    /// SHA-256 of each file that the run read and that the submission's file determines, by its name in this folder.
    pub inputs: BTreeMap<String, String>,
    /// SHA-256 of the result of each run that this one builds on, by what that one is for.
    pub parents: BTreeMap<String, String>,
    /// SHA-256 of this run's own result, which has the sums of other files: `result_summary.json`, or
    /// `qdl_result.json` of a run that the official LoadGen led.
    pub result: String,
    /// SHA-256 of files that the result does not list, by name: scores, and logs of the official LoadGen.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub logs: BTreeMap<String, String>,
}
