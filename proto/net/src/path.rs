//! The path of a connection: what one end knows of the way to the other.

use lon_proto::text::printable;
use lon_proto::v1;

/// The path of a connection: how this end sends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Path {
    /// Payload of one segment (over QUIC: of one datagram), in bytes; 0 when it is not known.
    pub segment_bytes: u32,
    /// The largest packet that the way takes, in bytes, as far as it was found out; 0 when it is not known.
    pub mtu_bytes: u32,
    /// The algorithm with which the sender finds out what the way carries, for example `cubic`; empty when it is not
    /// known.
    pub congestion_control: String,
}

impl From<Path> for v1::Path {
    fn from(path: Path) -> v1::Path {
        let Path { segment_bytes, mtu_bytes, congestion_control } = path;
        v1::Path { segment_bytes, mtu_bytes, congestion_control }
    }
}

/// The path as the other end reports it, with its text made fit to be shown.
impl From<v1::Path> for Path {
    fn from(message: v1::Path) -> Path {
        let v1::Path { segment_bytes, mtu_bytes, congestion_control } = message;
        Path { segment_bytes, mtu_bytes, congestion_control: printable(&congestion_control) }
    }
}
