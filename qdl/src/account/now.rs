//! What is known of a node while a run goes on.

use super::counters::NodeCounts;
use super::traffic::NodeTraffic;
use crate::types::{NodeFailure, Stall};

/// One node at some moment of a run. Its numbers are read one after the other, not all at one moment.
#[derive(Clone, Debug, Default)]
pub struct NodeNow {
    /// The node's name.
    pub name: String,
    /// Messages, payloads and samples until now.
    pub counts: NodeCounts,
    /// Bytes on the sockets until now.
    pub traffic: NodeTraffic,
    /// Samples that the node was given and that have not ended; answers that wait to be inflated among them.
    pub outstanding: u64,
    /// Why the node was lost; `None` as long as it is used.
    pub lost: Option<NodeFailure>,
    /// When it stood still, so far.
    pub stalls: Vec<Stall>,
}
