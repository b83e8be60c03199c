//! Query sample libraries: what is asked, made ready to send before any clock starts.
//!
//! - [`benchmark`]: the benchmarks that are known: dataset, limits, accuracy target, rules of the division, as data;
//! - [`bandwidth`]: what a rate of a benchmark takes of a fabric, and what rate a fabric allows;
//! - [`inputs`]: what a benchmark's model takes;
//! - [`dataset`]: samples by index, turned into the bytes that travel ([`lon_proto::sample`]), and their labels;
//! - [`digits`]: the benchmark that ships with the product, embedded and checked against its sums;
//! - [`kserve`]: samples as requests to servers that are no SUT nodes;
//! - [`synthetic`]: samples of any shape, for measuring fabrics;
//! - [`source`]: files and folders of users: images, arrays, token ids, prompts, SQuAD, raw tensors;
//! - [`reading`]: questions about passages, cut into windows;
//! - `wordpiece`: texts as pieces of words;
//! - [`advice`]: what each codec would gain on a dataset;
//! - [`accuracy`]: answers against labels;
//! - [`memory`]: how much of it there is.
//!
//! A leaf beside the wire contract: it knows neither network nor scenario, only rules about them.

pub mod accuracy;
pub mod advice;
pub mod bandwidth;
pub mod benchmark;
pub mod dataset;
pub mod encode;
mod files;
pub mod memory;
mod parallel;

pub use dataset::formats::digits;

pub use files::sums::SumError;
pub use lon_image::{Preprocess, SpecError};
pub use lon_proto::codec::{Codec, CodecError};
pub use lon_proto::limits::PART_BYTES;
