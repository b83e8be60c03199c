//! Fixtures for the whole-system tests: real processes on real sockets, and peers that follow a script.

// An error in these fixtures is a failed test, and a panic says so best.
#![allow(clippy::expect_used, clippy::unwrap_used)]

pub mod board;
pub mod chat;
pub mod client;
pub mod conformance;
pub mod examples;
pub mod export;
pub mod fabric;
pub mod fleet;
pub mod folder_check;
pub mod iperf;
pub mod json;
pub mod kserve;
pub mod live_metrics;
pub mod memory;
pub mod metrics;
pub mod nemesis;
pub mod page;
pub mod peer;
pub mod probe;
pub mod process;
pub mod prompts;
pub mod relay;
pub mod route;
pub mod run_folder;
pub mod schemas;
pub mod secrets;
pub mod servers;
pub mod stats;
pub mod test_run;
pub mod threads;
pub mod traffic;
pub mod unusual_runs;
