//! Files of users: those of a folder, and compared with their SHA-256 sums.
//!
//! - [`folder`]: a folder whose files are named by a list: nothing outside of it is read;
//! - [`sums`]: compares files with lists of sums.

pub(crate) mod folder;
pub(crate) mod sums;
