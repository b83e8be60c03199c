//! Traffic and reports as JSON, for checking against other implementations of LoadGen.
//!
//! The forms are those of the conformance vectors, whose whole files are accepted as input: what they expect is
//! ignored. Behind the commands `trace` and `replay`.

mod listing;
mod replay;
mod timeline;
mod trace;

use thiserror::Error;

use crate::plan::PlanError;

pub use replay::replay_report;
pub use timeline::{RejudgeError, replay_timeline};
pub use trace::trace_json;

/// Why a vector could not be evaluated.
#[derive(Debug, Error)]
pub enum VectorError {
    /// It is not JSON of the expected form; unknown keys are named.
    #[error("the vector cannot be read: {0}")]
    Form(#[from] serde_json::Error),
    /// Its settings cannot be run.
    #[error("the settings cannot be run: {0}")]
    Plan(#[from] PlanError),
}
