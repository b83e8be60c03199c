//! The wire contract of `lon.v1` and the words that both ends share: everything the two ends must agree on, and nothing
//! that either end decides alone.
//!
//! The contract:
//! - [`v1`]: the generated messages, client and server of `lon/v1/lon.proto` (checked in, so that no `protoc` is
//!   needed; `tests/generated.rs` fails when they are out of date);
//! - [`sample`]: the layout of the tensors inside one sample;
//! - [`assembly`]: parts of at most [`limits::PART_BYTES`] and how they become whole again;
//! - [`codec`]: how a whole sample or answer is compressed;
//! - [`run_identity`]: what proves that a run is the caller's own;
//! - [`limits`]: sizes, windows and times that both ends hold to;
//! - [`kserve`]: the protocol of servers that are not SUT nodes (KServe V2).
//!
//! The shared words:
//! - [`figures`]: sizes, rates and durations as people read and type them;
//! - [`files`]: files that somebody else may have made, read within limits;
//! - [`direction`]: towards the SUT or back from it;
//! - [`node_name`]: the name of a SUT node;
//! - [`setup`]: how a node is set up, and what it was built from;
//! - [`stages`]: where the time of one sample went;
//! - [`sums`]: lists of SHA-256 sums;
//! - [`text`]: texts from the other end, made fit to be shown.

pub mod assembly;
pub mod codec;
pub mod direction;
pub mod figures;
pub mod files;
pub mod kserve;
pub mod limits;
pub mod node_name;
pub mod run_identity;
pub mod sample;
pub mod setup;
pub mod stages;
pub mod sums;
pub mod text;
pub mod v1;

/// The version of the wire contract, exchanged in `Describe` and `StartRun`.
pub const WIRE_VERSION: u32 = 2;
