//! The real [`World`](loadgen::world::World) over the QDL, and how the SUT nodes are reached.
//!
//! - `target`, `targets`, `security`: which nodes, and how they are reached;
//! - `net_world`: the world itself, with `inbox` (arrivals), `pace` (waiting), `counts`, `failures` and `tally` (what
//!   is counted), `stage_rows` (node and stages of each sample, for a file), `stall` (when one end stood still);
//! - `signals`: SIGINT and SIGTERM.

pub(crate) mod counts;
pub(crate) mod failures;
pub(crate) mod inbox;
pub(crate) mod net_world;
pub(crate) mod pace;
pub(crate) mod security;
pub(crate) mod signals;
pub(crate) mod stage_rows;
pub(crate) mod stall;
pub(crate) mod tally;
pub(crate) mod target;
pub(crate) mod targets;
