//! Reasons that make a result INVALID, or limit what it says, beyond what the engine judges.
//!
//! - `reasons`: the node's own reasons against a result;
//! - `hints`: what to set when a run was too short;
//! - `lateness`: a LoadGen node that was late; `lag_limit`: how late it may be;
//! - `limits`: latencies beside the limits that they are judged by; `within`: limits of the user, which nothing is
//!   judged by;
//! - `stalls`: when either end stood still during the run;
//! - `limiting_cause`: what held the run back;
//! - `saturation`: how near to its limits the LoadGen node was; `bench_baseline`: what the network cost.

pub(crate) mod bench_baseline;
pub(crate) mod hints;
pub(crate) mod lag_limit;
mod lateness;
pub(crate) mod limiting_cause;
pub mod limits;
pub(crate) mod reasons;
pub(crate) mod saturation;
pub(crate) mod stalls;
pub mod within;
