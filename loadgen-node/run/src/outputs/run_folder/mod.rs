//! The folder of a run.
//!
//! - `record`: a test that leaves a run folder;
//! - `folder`: the run folder; `write_order`: in which order it is filled; `faults`: how tests let that fail;
//! - `journal`: what is on the disk while a run goes on; `recover`: what can be made of it when it was killed;
//! - `qdl_files`: what is written beside the logs of another engine that led a run.

pub(crate) mod faults;
pub mod folder;
pub(crate) mod journal;
pub mod qdl_files;
pub mod record;
pub mod recover;
pub(crate) mod write_order;
