//! Which node answered each sample, and how long each stage took: `stages.bin`, with `run --record-stages`.
//!
//! - `header`: the beginning of both files;
//! - `part`: what is on the disk while the run goes on, rows where they belong;
//! - `writer`: the thread that writes it;
//! - `stored`: the file that the run leaves, made of the part, and how it is read.

mod header;
pub(crate) mod part;
pub(crate) mod stored;
pub(crate) mod writer;

/// Name in the run folder.
pub(crate) const FILE: &str = "stages.bin";
