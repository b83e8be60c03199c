//! `sut-node bench`: the backend behind its own queue and workers, in this process, with no network in between. What a
//! run over the network loses against it is what the fabric and its software cost (`loadgen-node run --baseline`).
//!
//! - [`samples`]: what the backend is asked;
//! - [`measure`]: the two phases;
//! - [`report`]: what they found.

pub mod measure;
pub mod report;
pub mod samples;
