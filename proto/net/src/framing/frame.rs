//! The prefix of a frame: a flag byte and a length of four bytes (big endian).

/// Flag byte and length.
pub const PREFIX_BYTES: usize = 5;

/// Flag of a message.
pub(super) const PLAIN: u8 = 0;
/// Flag of the last frame of a stream, on transports without a status of their own.
pub(super) const END: u8 = 0x80;
