//! The samples of a run folder as rows, for other programs.
//!
//! - `recording`: the samples, one by one, in fixed memory;
//! - `csv`, `parquet`: the forms in which they are written; `thrift`: what Parquet says of itself.

pub(crate) mod csv;
pub(crate) mod parquet;
mod recording;
mod thrift;

pub(crate) use recording::Recording;
