//! Runs that go as they should, and those that ask for more than a system can do.
//!
//! - `arrivals`: arrival processes, traces, bursts, closed loops and searches
//! - `main_job`: the main job over separate processes, every scenario, every route
//! - `many_nodes`: very many nodes, and how little is said of them
//! - `mixes`: several tenants at once over the same nodes
//! - `overload`: more than the SUT can take
//! - `round_v05`: runs that the engine of round v0.5 leads
//! - `round_v05_cases`: recorded cases of the LoadGen of round v0.5, computed again
//! - `tokens`: answers token by token, from whole systems

mod arrivals;
mod main_job;
mod many_nodes;
mod mixes;
mod overload;
mod round_v05;
mod round_v05_cases;
mod tokens;
