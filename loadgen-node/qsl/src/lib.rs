//! Query sample libraries: datasets and benchmarks, turned into samples that are ready to send before any clock starts.
//!
//! From the top down; a module uses only those below it:
//!
//! - [`benchmark`]: benchmarks as data: which datasets they take, limits, accuracy targets, rules;
//! - [`codec_advice`]: how much each codec would gain on a dataset;
//! - [`arrivals`]: trace files of others and our own, as the times at which queries are due;
//! - [`dataset`]: samples by index, from synthetic descriptions and files of users to bytes that are sent;
//! - [`digits`]: the files of the digits benchmark, which are part of the program;
//! - [`accuracy`]: scores answers against the right ones;
//! - [`encode`]: token ids and texts as a model's inputs, samples as KServe requests (codecs: see `dataset`);
//! - [`bandwidth`]: the bandwidth that a rate of samples needs;
//! - `files`: reads files, and compares them with their SHA-256 sums;
//! - `parallel`: the same work on many samples, on all cores.
//!
//! The crate knows neither network nor engine, nor how a scenario sends its queries. A dataset can be opened without a
//! benchmark, by [`dataset::Dataset::open`].

pub mod accuracy;
pub mod arrivals;
pub mod bandwidth;
pub mod benchmark;
pub mod codec_advice;
pub mod dataset;
pub mod digits;
pub mod encode;
mod files;
mod parallel;

pub use files::sums::SumError;
pub use lon_image::{Preprocess, SpecError};
pub use lon_proto::codec::{Codec, CodecError};
pub use lon_proto::limits::PART_BYTES;
