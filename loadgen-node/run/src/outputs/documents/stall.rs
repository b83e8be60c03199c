//! Stalls of either end: part of `result_summary.json`.

use serde::{Deserialize, Serialize};

use lon_world::stall::Stall;

/// A stretch in which one end of the run stood still.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StallDocument {
    /// `loadgen`, or the name of the SUT node; of a node it can have been the way to it, too.
    pub end: String,
    /// When it began, ns from the start of the run.
    pub start_ns: u64,
    /// Length of the stall, ns.
    pub duration_ns: u64,
}

impl From<&Stall> for StallDocument {
    fn from(stall: &Stall) -> StallDocument {
        let Stall { end, start_ns, duration_ns } = stall.clone();
        StallDocument { end, start_ns, duration_ns }
    }
}
