//! The wire contract of `lon.v1`: everything the two ends must agree on, and nothing either end decides alone.
//!
//! - [`v1`]: the generated messages, client and server of `lon/v1/lon.proto` (checked in; `tests/generated.rs` keeps
//!   them fresh, no `protoc` anywhere);
//! - [`sample`]: the layout of the tensors inside one sample;
//! - [`assembly`]: parts of at most [`limits::PART_BYTES`] and how they become whole again;
//! - [`codec`]: what a whole sample or answer is wrapped in;
//! - [`limits`]: sizes, windows and times that both ends hold to.
//!
//! [`kserve`] is apart: the protocol of servers that are no SUT nodes.

pub mod assembly;
pub mod codec;
pub mod kserve;
pub mod limits;
pub mod sample;

/// Generated from `lon/v1/lon.proto`.
#[allow(missing_docs, unreachable_pub, clippy::all, clippy::pedantic, clippy::semicolon_if_nothing_returned)]
pub mod v1 {
    include!("gen/lon.v1.rs");
}

/// The version of the wire contract, exchanged in `Describe` and `StartRun`.
pub const WIRE_VERSION: u32 = 1;
