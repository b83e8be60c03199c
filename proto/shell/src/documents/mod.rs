//! JSON documents that one program writes and the other reads, and parts that documents of both have: one struct each,
//! with which it is written and read.
//!
//! - `host`: a machine and its network interfaces.

mod host;

pub use host::{HostDocument, InterfaceDocument};
