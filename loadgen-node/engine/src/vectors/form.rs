//! Reading a vector: JSON of the conformance vectors, less what is ignored in it.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use thiserror::Error;

use crate::traffic::PlanError;

/// Why a vector could not be evaluated.
#[derive(Debug, Error)]
pub enum VectorError {
    /// The text is not JSON of the expected form; unknown keys are named.
    #[error("the vector cannot be read: {0}")]
    Form(#[from] serde_json::Error),
    /// A value is outside its range.
    #[error("{key}: {why}")]
    Value {
        /// The key of that value.
        key: &'static str,
        /// Fault of the value, in words.
        why: String,
    },
    /// There is more traffic than can be listed or held.
    #[error("{0}")]
    TooMuch(String),
    /// The settings cannot be run.
    #[error("the settings cannot be run: {0}")]
    Plan(#[from] PlanError),
}

/// Keys of the conformance vectors that are accepted, and mean nothing here.
const IGNORED_KEYS: [&str; 5] = ["name", "kind", "note", "expected", "ground_truth"];

/// Reads a vector, less what is ignored in it.
pub(super) fn from_vector<T: DeserializeOwned>(text: &str) -> Result<T, VectorError> {
    let mut object: Map<String, Value> = serde_json::from_str(text)?;
    for key in IGNORED_KEYS {
        object.remove(key);
    }
    Ok(serde_json::from_value(Value::Object(object))?)
}
