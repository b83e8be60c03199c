//! The QDL against scripted nodes, in one process.
//!
//! - `nodes`: runs and probes: what is sent, what comes back, what is counted
//! - `names`: where a node's name leads, and what is dialled
//! - `transport`: a transport that the crate does not know
//! - `peer`: the scripted node, and the caller's side of a run
#![allow(missing_docs, clippy::unwrap_used)]

mod names;
mod nodes;
mod peer;
mod transport;
