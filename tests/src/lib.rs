//! Fixtures for the whole-system tests: real processes on real sockets, and peers that follow a script.

// What goes wrong here is a failed test, and a panic says so best.
#![allow(clippy::expect_used, clippy::unwrap_used)]

pub mod chat;
pub mod fabric;
pub mod folder_check;
pub mod iperf;
pub mod json;
pub mod kserve;
pub mod memory;
pub mod metrics;
pub mod nemesis;
pub mod page;
pub mod peer;
pub mod process;
pub mod relay;
pub mod route;
pub mod run_folder;
pub mod schemas;
pub mod servers;
pub mod stats;
pub mod test_run;
