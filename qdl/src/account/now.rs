//! State of a node while a run goes on.

use std::time::Duration;

use lon_net::send_room::Room;

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
    /// Room for more bytes and samples until now.
    pub room: NodeRoom,
    /// Samples that the node was given and that have not ended; answers that wait to be inflated among them.
    pub outstanding: u64,
    /// Why the node was lost; `None` as long as it is used.
    pub lost: Option<NodeFailure>,
    /// When it stood still, so far.
    pub stalls: Vec<Stall>,
}

/// Room for more on the way to a node, and in the node: the times in which there was none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeRoom {
    /// Streams that write, each for itself: connections, over QUIC streams of them.
    pub writers: u64,
    /// The sockets that carry them, all together. Over QUIC it has the time alone in which writes waited.
    pub socket: Room,
    /// Time in which HTTP/2 took nothing more from a stream: the node's flow-control window was full, or the socket.
    pub http2_held: Duration,
    /// Time in which the node was given no more samples because it takes no more at once. It counts only under
    /// [`crate::Policy::Pull`]; under the other policy a sample that finds no room fails.
    pub window_full: Duration,
    /// The node is on this host: see [`crate::Ends::are_here`].
    pub is_on_this_host: bool,
}

impl NodeRoom {
    /// Returns the increase since `before`.
    #[must_use]
    pub fn since(self, before: NodeRoom) -> NodeRoom {
        let http2_held = self.http2_held.saturating_sub(before.http2_held);
        let window_full = self.window_full.saturating_sub(before.window_full);
        NodeRoom { socket: self.socket.since(before.socket), http2_held, window_full, ..self }
    }
}
