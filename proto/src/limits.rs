//! Sizes and times that both ends hold to. Not configuration: changing one changes the wire contract's behaviour.

use std::time::Duration;

/// Bytes of payload in one Dispatch message at most. Larger samples travel in parts, so that a heartbeat or a small
/// sample never waits behind a whole large one.
pub const PART_BYTES: usize = 1 << 20;

/// What a Dispatch message may need beyond its payload: id, counters, stages, an error text.
pub const MESSAGE_OVERHEAD_BYTES: usize = 16 << 10;

/// Largest message either end accepts.
pub const MAX_MESSAGE_BYTES: usize = PART_BYTES + MESSAGE_OVERHEAD_BYTES;

/// Largest sample or answer either end accepts unless told otherwise.
pub const MAX_SAMPLE_BYTES: u64 = 1 << 30;

/// HTTP/2 frame size: the largest single gain in goodput that was measured (a default of 16 KiB halves it).
pub const HTTP2_FRAME_BYTES: u32 = 1 << 20;

/// HTTP/2 flow-control window of a stream. Explicit, since the protocol's default of 64 KiB starves any fast link.
pub const HTTP2_STREAM_WINDOW_BYTES: u32 = 4 << 20;

/// HTTP/2 flow-control window of a connection.
pub const HTTP2_CONNECTION_WINDOW_BYTES: u32 = 8 << 20;

/// A stream that had nothing to say for this long says so.
pub const HEARTBEAT_INTERVAL: Duration = Duration::from_millis(500);

/// A SUT node asks a silent connection for a sign of life this often,
pub const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(10);

/// and closes it when none comes for this long.
pub const KEEPALIVE_TIMEOUT: Duration = Duration::from_secs(10);

/// Run ids are this many random bytes.
pub const RUN_ID_BYTES: usize = 16;

/// Longest error text that crosses the wire, in bytes.
pub const MAX_ERROR_BYTES: usize = 4 << 10;
