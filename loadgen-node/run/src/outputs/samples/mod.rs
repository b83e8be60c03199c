//! The samples of a run folder as rows, for other programs.
//!
//! - `recording`: the samples, one by one, in fixed memory;
//! - `csv`, `parquet`: the forms in which they are written.

pub mod csv;
pub mod parquet;
mod recording;

pub use recording::Recording;
