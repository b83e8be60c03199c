//! Files, lists of SHA-256 sums and texts of others, as backends see them. Backends know them under this name, so that
//! they know nothing else of the crate that has them.

pub use lon_proto::files::{Limit, bytes, open, text};
pub use lon_proto::sums::{SUMS_FILE, entry};
pub use lon_proto::text::{is_hidden, printable};
