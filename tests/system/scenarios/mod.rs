//! Runs that go as they should, and those that ask for more than a system can do.
//!
//! - `main_job`: the main job over separate processes, every scenario, every route
//! - `many_nodes`: very many nodes, and how little is said of them
//! - `overload`: more than the SUT can take
//! - `tokens`: answers token by token, from whole systems

mod main_job;
mod many_nodes;
mod overload;
mod tokens;
