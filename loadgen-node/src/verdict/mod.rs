//! Reasons that make a result INVALID, or limit what it says, beyond what the engine judges.
//!
//! - `division`: the rules of the division that a run is for; `reasons`: the node's own reasons against a result;
//! - `saturation`: how near to its limits the LoadGen node was; `baseline`: what the network cost.

pub(crate) mod baseline;
pub(crate) mod division;
pub(crate) mod reasons;
pub(crate) mod saturation;
