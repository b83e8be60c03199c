//! Length-prefixed messages, framed as gRPC does: a flag byte, a length of four bytes (big endian), the message.
//!
//! Transports without a status of their own end a stream with a frame of another flag, which carries one. No I/O.
//!
//! - `frame`: the prefix of a frame;
//! - `outbound`: messages on their way out ([`Outbound`]);
//! - `inbound`: bytes on their way in ([`Inbound`]).

mod frame;
mod inbound;
mod outbound;
#[cfg(test)]
mod tests;

pub use frame::PREFIX_BYTES;
pub use inbound::{Inbound, Incoming};
pub use outbound::Outbound;
