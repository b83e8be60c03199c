//! The headings under which help lists the flags.

pub(super) const WHAT: &str = "Test";
pub(super) const NODES: &str = "SUT nodes";
pub(super) const NETWORK: &str = "Network";
pub(super) const OUTPUT: &str = "Output";
pub(super) const EXPERT: &str = "Expert";
pub(super) const SAMPLES: &str = "Samples";
