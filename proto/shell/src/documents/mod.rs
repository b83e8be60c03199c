//! JSON documents that one program writes and the other reads, and parts that documents of both have: one struct each,
//! with which it is written and read.
//!
//! - `bench`: what a backend does without a network;
//! - `host`: a machine and its network interfaces.

mod bench;
mod host;

pub use bench::{BENCH_SCHEMA, BenchBackend, BenchLatency, BenchOptions, BenchReport, BenchSamples, BenchThroughput};
pub use host::{HostDocument, InterfaceDocument};
