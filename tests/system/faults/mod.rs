//! Tests of faults, and of the end of a run that meets one.
//!
//! - `loss`: ends that freeze, and what waits for them
//! - `matrix`: every fault in every scenario, mode and transport, from one table
//! - `recover`: runs whose LoadGen node is killed, and what `recover` makes of them
//! - `verdict`: nothing says VALID without a whole measurement: losses, stalls, killed runs
//! - `wrong_answers`: answers that are not what a node has said, and counts that cannot be true

mod loss;
mod matrix;
mod recover;
mod verdict;
mod wrong_answers;
