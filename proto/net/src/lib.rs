//! How the bytes of `lon.v1` move. Both ends use this crate, so that there is one of each: one framing, one way to
//! write, one way to read, whatever carries them.
//!
//! ```text
//! Fill ──messages──> Outbound ──chunks──> grpc::FillBody │ tcp::write │ quic::write      ══> the other end
//! Source::poll_read ──chunks──> Inbound ──messages──> whoever reads                      <══
//! ```
//!
//! Every transport carries the same length-prefixed messages (gRPC's framing), so they are counted and bounded alike.
//! Payloads are neither copied on their way out nor, as far as the transport hands them over in one piece, on their
//! way in. What this crate does not know: runs, nodes, in-flight tables, admission.

pub mod accept;
pub mod address;
pub mod dial;
pub mod flow;
pub mod framing;
pub mod grpc;
pub mod host;
pub mod io;
pub mod meter;
pub mod nic;
pub mod quic;
pub mod slice;
pub mod tcp;
mod tcp_info;
pub mod throwaway;
pub mod tls;
