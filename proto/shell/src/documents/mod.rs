//! JSON documents that one program writes and the other reads, and parts that documents of both have: one struct each,
//! with which it is written and read.
//!
//! - `bench`: what a backend does without a network;
//! - `describe`: a SUT node that does not serve, as it describes itself;
//! - `text`: how documents of others are read.

mod bench;
mod describe;
mod text;

pub use bench::{BENCH_SCHEMA, BenchBackend, BenchLatency, BenchOptions, BenchReport, BenchSamples, BenchThroughput};
pub use describe::{BackendDocument, DESCRIBE_SCHEMA, DescribeDocument, TriedEngine};
pub use text::of_text;
