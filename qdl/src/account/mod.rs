//! Counters of the traffic with the nodes, and the comparison of both ends' counters.
//!
//! - `counters`: messages, payloads and samples of each lane; `inflated`: answers that are inflated here; `traffic`:
//!   bytes on the sockets to one node;
//! - `now`: what is known of a node while a run goes on;
//! - `report`: both ends' counters when a run is over; `reconcile`: where they differ.

pub(crate) mod counters;
pub(crate) mod inflated;
pub(crate) mod now;
pub(crate) mod reconcile;
pub(crate) mod report;
pub(crate) mod traffic;
