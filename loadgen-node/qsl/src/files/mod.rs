//! Files of users: read only when they are regular files, and compared with their SHA-256 sums.
//!
//! - [`disk`]: reads files;
//! - [`sums`]: compares files with lists of sums.

pub(crate) mod disk;
pub(crate) mod sums;
