//! Files of users: read only when they are regular files, and compared with their SHA-256 sums.
//!
//! - [`disk`]: reads files;
//! - [`folder`]: a folder whose files are named by a list: nothing outside of it is read;
//! - [`sums`]: compares files with lists of sums.

pub(crate) mod disk;
pub(crate) mod folder;
pub(crate) mod sums;
