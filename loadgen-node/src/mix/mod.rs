//! Mixes: several tests at once over the same nodes, from one file.
//!
//! | file | what it has |
//! |---|---|
//! | `file` | the file as it is written |
//! | `checked` | the whole file, checked: a test for each tenant |

mod checked;
mod file;

pub(crate) use self::checked::{ALONE, CheckedMix, CheckedTenant};
