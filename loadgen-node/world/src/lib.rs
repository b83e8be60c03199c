//! The real [`World`](loadgen::world::World), over the QDL: what happens to each sample on the LoadGen node, while the
//! clock runs.
//!
//! - [`net_world`]: the world itself;
//! - [`mix`]: tenants of one run, each in a world of its own;
//! - [`inbox`]: arrivals, from the threads of the QDL to the engine's;
//! - [`pace`]: waiting, and which thread does the network's work;
//! - [`counts`], [`failures`], [`tally`], [`odd_answers`]: what is counted, for displays and for the result;
//! - [`stage_rows`]: node and stages of each sample, for a file;
//! - [`stall`]: when one end stood still; [`threads`]: what the threads had of the processors.
//!
//! A crate of its own, so that it and the engine's loop are built for speed, and the rest of the node to be small.

pub mod counts;
pub mod failures;
pub mod inbox;
pub mod mix;
pub mod net_world;
pub mod odd_answers;
pub mod pace;
pub mod stage_rows;
pub mod stall;
pub mod tally;
pub mod threads;

use loadgen::plan::Plan;
use loadgen::run::{Observer, RunOptions, RunOutcome};
use loadgen::v05::adapter;
use loadgen::v05::test::{TestInput, TestOutcome};
use mix::MixedWorld;
use net_world::NetWorld;

/// Runs the test of a plan on the calling thread, as [`loadgen::run::run`] does, and judges it.
pub fn run(plan: &Plan, world: &mut NetWorld, observer: &mut dyn Observer, options: RunOptions) -> RunOutcome {
    loadgen::run::run(plan, world, observer, options)
}

/// The same of a tenant.
pub fn run_mixed(
    plan: &Plan,
    world: &mut MixedWorld<'_, NetWorld>,
    observer: &mut dyn Observer,
    options: RunOptions,
) -> RunOutcome {
    loadgen::run::run(plan, world, observer, options)
}

/// Runs a test of round v0.5 on the calling thread, as [`adapter::run`] does, and judges it by the rules of that round.
pub fn run_v0_5(
    input: &TestInput,
    plan: &Plan,
    world: &mut NetWorld,
    observer: &mut dyn Observer,
    options: &RunOptions,
) -> (RunOutcome, TestOutcome) {
    adapter::run(input, plan, options, world, observer)
}
