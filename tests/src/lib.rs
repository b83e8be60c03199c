//! Fixtures for the whole-system tests: real processes on real sockets, and peers that follow a script.

pub mod peer;
pub mod process;
pub mod run_folder;
