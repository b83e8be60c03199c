//! Files of users: opened only when they are files, and compared with their SHA-256 sums.
//!
//! - [`disk`]: reading;
//! - [`sums`]: lists of sums.

pub(crate) mod disk;
pub(crate) mod sums;
