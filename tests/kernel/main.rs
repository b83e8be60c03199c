//! Tests that make the operating system fail: with strace, small disks, limits and control groups.
//!
//! They take root, so each is ignored by `cargo test` and names what runs it.
//!
//! - `failing_calls`: calls of the operating system that fail, one after the other
//! - `full_disk`: disks that are full
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

mod failing_calls;
mod full_disk;
