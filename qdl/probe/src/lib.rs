//! Round trips and floods over a claimed fabric: how `loadgen-node probe` measures the way to SUT nodes, and how a SUT
//! node measures the way to another one.
//!
//! The traffic takes the same connections, framing and flow control as samples; only the backend is left out. So it
//! finds what queries can have, which may be less than what a link promises.
//!
//! - `peer`: the whole of one node's way to another;
//! - `load`: round trips and floods over nodes that are claimed;
//! - `goodput`: how much is on its way, and what came of it; `trips`: round trips, and what they come to;
//! - `mailbox`: where replies wait.

mod goodput;
mod load;
mod mailbox;
mod peer;
mod trips;

pub use load::{Flood, FloodDirection, FloodSpec, Load, ProbeError};
pub use peer::measure_peer;
pub use trips::{Percentiles, Rtt};
