//! Tests of the traffic between the nodes.
//!
//! - `byte_counts`: bytes of every layer, as both ends count them
//! - `codecs`: codecs that cannot be, and where samples are inflated
//! - `messages`: what crosses the network, and what never does, seen by a peer that records it
//! - `probe`: sweeps, watches and needs of `probe`
//! - `probe_between_nodes`: what SUT nodes measure among each other
//! - `security`: TLS, tokens, and where plain text is allowed
//! - `transports`: a transport that neither end knows
//! - `unusable_nodes`: nodes that cannot be used: absent, of one name, of another version, busy

mod byte_counts;
mod codecs;
mod messages;
mod probe;
mod probe_between_nodes;
mod security;
mod transports;
mod unusable_nodes;
