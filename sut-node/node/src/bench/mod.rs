//! `sut-node bench`: the backend behind its own queue and workers, in this process, with no network in between. What a
//! run over the network loses against it is what the fabric and its software cost (`loadgen-node run --baseline`).
//!
//! - [`samples`]: the samples that the backend is asked with;
//! - [`measure`]: the two phases;
//! - [`report`]: their results; [`dli`]: the same as rows of the DLI benchmark.

pub mod dli;
pub mod measure;
pub mod report;
pub mod samples;
