//! Sizes and times that both ends hold to. They are not configuration: they are part of the wire contract.

use std::time::Duration;

/// The most bytes of payload in one Dispatch message. Larger samples travel in parts, so that a heartbeat or a small
/// sample never waits behind a whole large one.
pub const PART_BYTES: usize = 1 << 20;

/// The most bytes that a Dispatch message may have beyond its payload: id, counters, stages, an error text.
pub const MESSAGE_OVERHEAD_BYTES: usize = 16 << 10;

/// The largest message that either end accepts, in bytes.
pub const MAX_MESSAGE_BYTES: usize = PART_BYTES + MESSAGE_OVERHEAD_BYTES;

/// The largest sample or answer that either end accepts unless configured otherwise, in bytes.
pub const MAX_SAMPLE_BYTES: u64 = 1 << 30;

/// HTTP/2 frame size in bytes: the largest single gain in goodput that was measured (a default of 16 KiB halves it).
/// What comes behind a frame waits for it, heartbeats too. A link over which one takes longer than an end may be silent
/// is too slow for gRPC and large samples: 2 Mbit/s are needed. Plain TCP and QUIC have no such frames.
pub const HTTP2_FRAME_BYTES: u32 = 1 << 20;

/// HTTP/2 flow-control window of a stream, in bytes. It is set, since the protocol's default of 64 KiB starves any fast
/// link.
pub const HTTP2_STREAM_WINDOW_BYTES: u32 = 4 << 20;

/// HTTP/2 flow-control window of a connection, in bytes.
pub const HTTP2_CONNECTION_WINDOW_BYTES: u32 = 8 << 20;

/// An end that has sent nothing on a stream for this long sends a heartbeat.
pub const HEARTBEAT_INTERVAL: Duration = Duration::from_millis(500);

/// A stream on which nothing came for longer than this has stalled: two heartbeats are missing.
pub const LONGEST_SILENCE: Duration = Duration::from_secs(1);

/// A claim ends when nothing came from its client for this long, on none of its streams: not even a heartbeat.
pub const CLIENT_SILENCE: Duration = Duration::from_secs(10);

/// The interval at which a SUT node asks a silent connection for a sign of life.
pub const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(10);

/// The time that a SUT node waits for that sign of life before it closes the connection.
pub const KEEPALIVE_TIMEOUT: Duration = Duration::from_secs(10);

/// The length of a run id in random bytes.
pub const RUN_ID_BYTES: usize = 16;

/// The length in random bytes of the secret that a node gives to the client of a run.
pub const SECRET_BYTES: usize = 32;

/// The length in random bytes of the nonce that a client sends with `Describe`.
pub const HOST_NONCE_BYTES: usize = 16;

/// The most connections, and the most repeats, that `ProbePeer` may ask for.
pub const MAX_PEER_PROBE_COUNT: u32 = 256;

/// The longest time for the directions that one `ProbePeer` measures, all repeats together.
pub const MAX_PEER_PROBE_TIME: Duration = Duration::from_secs(600);

/// The most payload that one measurement of `ProbePeer` may have, in bytes.
pub const MAX_PEER_PROBE_BYTES: u64 = 100_000_000_000;

/// The longest error text that is sent, in bytes.
pub const MAX_ERROR_BYTES: usize = 4 << 10;
