//! Whole runs over real sockets, with a node in this process and a client that counts for itself.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

mod client;
mod codecs;
mod counters;
mod probe;
mod streaming;
mod tenants;
mod threads;
mod transport;
