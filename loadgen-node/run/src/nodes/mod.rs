//! Which SUT nodes there are, and how they are reached.
//!
//! - `targets`: lists of addresses, in a flag, in a file, or behind a name;
//! - `target`: nodes with a transport, certificates and a token, and a QDL that is connected to them;
//! - `target_spec`: the nodes as they are asked for;
//! - `security`: nodes on other hosts are reached with TLS, unless the user does without it.

pub(crate) mod security;
pub mod target;
pub mod target_spec;
pub mod targets;
