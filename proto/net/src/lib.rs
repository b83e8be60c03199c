//! The transfer of the bytes of `lon.v1`: framing, transports and TLS, the same code at both ends.
//!
//! ```text
//! Fill ──messages──> Outbound ──chunks──> grpc::FillBody │ tcp::write │ quic::write      ══> the other end
//! Source::poll_read ──chunks──> Inbound ──messages──> whoever reads                      <══
//! ```
//!
//! Every transport carries the same length-prefixed messages (gRPC's framing), so they are counted and bounded alike.
//! Payloads are neither copied on their way out nor, as far as the transport hands them over in one piece, on their
//! way in. This crate knows nothing of runs, nodes, in-flight tables or admission.
//!
//! - `framing`: messages as bytes; `flow`: what a transport sends from and reads from;
//! - `grpc`, `tcp`, `quic`: the three transports;
//! - `dial`, `accept`: how a connection over TCP begins, at the client and at the server; `lookup`: where names lead;
//! - `socket`: what is below a connection, the kernel's TCP or a network that is brought; `io`: a connection with its
//!   counters; `meter`: how far a stream was written below HTTP/2; `tcp_info`: what
//!   the kernel knows of it; `send_room`: whether it had room to write; `path`: how a connection sends;
//! - `tls`: certificates and who is trusted; `throwaway`: certificates for tests and for `demo`;
//! - `token`: what clients of a node must know; `key_file`: reads files with secrets;
//! - `address`: host and port of a node;
//! - `end_counters`: what an end of a probe has spent and counted; `link_errors`: what the kernel and an interface have
//!   counted as lost, late or refused;
//! - `clock`: the time that both ends read; `random`: random bytes;
//! - `slice`: asks the scheduler for short time slices or real-time priority, for threads that others wait for;
//!   `thread_time`: how long threads ran, and waited for a core; `descriptors`: asks the system for more open files and
//!   sockets.

pub mod accept;
pub mod address;
pub mod clock;
pub mod descriptors;
pub mod dial;
pub mod end_counters;
pub mod flow;
pub mod framing;
pub mod grpc;
pub mod io;
pub mod key_file;
pub mod link_errors;
pub mod lookup;
pub mod meter;
pub mod path;
pub mod quic;
pub mod random;
pub mod send_room;
pub mod slice;
pub mod socket;
pub mod tcp;
mod tcp_info;
pub mod thread_time;
pub mod throwaway;
pub mod tls;
pub mod token;
