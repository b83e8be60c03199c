//! When each sample of a run was due, issued and answered.
//!
//! - `stored_timeline`: the timeline of a run, read;
//! - `stages`: node and stages of each of its samples.

pub(crate) mod stages;
pub mod stored_timeline;
