//! Traffic and reports as JSON documents, for checking against other implementations of LoadGen.
//!
//! The documents have the form of what the conformance vectors expect; the vectors' whole files are accepted as input,
//! and what they expect is ignored. The commands `trace` and `replay` print these documents.
//!
//! - `trace`: the traffic that settings generate; `listing`: its lists of numbers;
//! - `replay`: the report that given latencies come to; `timeline`: the report of a recorded run.

mod listing;
mod replay;
mod timeline;
mod trace;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use thiserror::Error;

use crate::plan::PlanError;

pub use listing::{ListDigest, Numbers};
pub use replay::{ReplayedReport, replay_report};
pub use timeline::{RejudgeError, replay_timeline};
pub use trace::{AllSamples, LoggedSamples, PhaseTraffic, TrafficTrace, trace};

/// Why a vector could not be evaluated.
#[derive(Debug, Error)]
pub enum VectorError {
    /// It is not JSON of the expected form; unknown keys are named.
    #[error("the vector cannot be read: {0}")]
    Form(#[from] serde_json::Error),
    /// One of its values is outside its range.
    #[error("{key}: {why}")]
    Value {
        /// Where it is.
        key: &'static str,
        /// What is wrong with it.
        why: String,
    },
    /// Its traffic does not fit.
    #[error("{0}")]
    TooMuch(String),
    /// Its settings cannot be run.
    #[error("the settings cannot be run: {0}")]
    Plan(#[from] PlanError),
}

/// Keys of the conformance vectors that are accepted, and mean nothing here.
const IGNORED_KEYS: [&str; 5] = ["name", "kind", "note", "expected", "ground_truth"];

/// Reads a vector, less what is ignored in it.
fn from_vector<T: DeserializeOwned>(text: &str) -> Result<T, VectorError> {
    let mut object: Map<String, Value> = serde_json::from_str(text)?;
    for key in IGNORED_KEYS {
        object.remove(key);
    }
    Ok(serde_json::from_value(Value::Object(object))?)
}
