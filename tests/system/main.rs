//! Whole-system tests that need no privileges: the two programs as processes, on real sockets.
//!
//! rustup and cc are enough to build and run them.
//!
//! - `command_line`: what a person at a terminal meets
//! - `scenarios`: runs that go as they should, in every scenario
//! - `datasets`: data of users, from the disk to the score
//! - `faults`: what goes wrong, and how a run ends that meets it
//! - `rules`: the rules of the Network division, and compliance tests
//! - `network`: what crosses the network, and how
//! - `sut_node`: a SUT node by itself: its clients, its memory, its pipeline, its metrics
//! - `backends`: servers behind a SUT node, and servers in the place of one
//! - `results`: what a run leaves: documents, pages, and what is made of them later
//! - `capi`: the C interface of the QDL
//! - `fuzz_seeds`: what the fuzz targets start from
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

mod backends;
mod capi;
mod command_line;
mod datasets;
mod faults;
mod fuzz_seeds;
mod network;
mod results;
mod rules;
mod scenarios;
mod sut_node;
