//! Lists of SHA-256 sums, as backends see them. Backends know them under this name, so that they know nothing else of
//! the
//! crate that has them.

pub(crate) use lon_proto::sums::{SUMS_FILE, entry};
