//! JSON documents that one program writes and the other reads, and parts that documents of both have: one struct each,
//! with which it is written and read.
//!
//! - `bench`: what a backend does without a network;
//! - `describe`: a SUT node that does not serve, as it describes itself;
//! - `host`: a machine and its network interfaces;
//! - `text`: how documents of others are read.

mod bench;
mod describe;
mod host;
mod text;

pub use bench::{BENCH_SCHEMA, BenchBackend, BenchLatency, BenchOptions, BenchReport, BenchSamples, BenchThroughput};
pub use describe::{BackendDocument, DESCRIBE_SCHEMA, DescribeDocument, TriedEngine};
pub use host::{HostDocument, InterfaceDocument};
pub use text::of_text;
