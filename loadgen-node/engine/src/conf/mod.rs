//! Official config files: mlperf.conf, user.conf, audit.config, read exactly as the official LoadGen reads them.
//!
//! Its oddities are kept, and told: a line that has another effect than it looks like leaves a remark with its number.
//!
//! | file | what it turns into what |
//! |---|---|
//! | [`parse`] | text -> a table of keys and values, faults, remarks |
//! | `number` | words -> numbers, by the rules of C |
//! | `lookup` | model, scenario, key -> the line that counts |
//! | [`keys`] | a table -> settings |
//! | [`rules`] | a round -> its built-in settings |
//! | [`origin`] | settings, each with where it comes from |
//!
//! Texts go in; opening files is left to the caller.

pub mod keys;
mod lookup;
mod number;
pub mod origin;
pub mod parse;
pub mod rules;

pub(crate) use lookup::ANY;
pub(crate) use number::{real, whole};
