//! The control side of the nodes: names, descriptions, claims, flushes and ends. Each node has a control connection of
//! its own, apart from the connections that carry samples, so that a full pipe never delays a control call.
//!
//! - `peer`: the trait that every kind of node implements; `peers`: the nodes as the caller gives them, and how all of
//!   them are reached;
//! - `sut_node`: SUT nodes; `kserve`: servers of KServe's protocol;
//! - `describe`: what a node says of itself; `name`: the SUT's name;
//! - `claiming`: claims all nodes or none; `all_nodes`: one call to each of many nodes;
//! - `connect`: control connections; `thread`: where control calls run.

pub(crate) mod all_nodes;
mod claiming;
mod connect;
mod describe;
mod kserve;
mod name;
mod peer;
mod peers;
mod sut_node;
mod thread;

pub(crate) use claiming::{ClaimTarget, claim_all};
pub(crate) use connect::{Reach, connect, look_up};
pub use describe::{AnswersChecked, ModelDescription, NodeDescription};
pub use name::SutName;
pub use peer::NameTrip;
pub(crate) use peer::{Claim, Claimed, Described, Peer, Purpose, RunCodecs, Tenant};
pub use peers::{KserveServer, Peers};
pub(crate) use sut_node::TokenHeader;
pub(crate) use thread::Control;
