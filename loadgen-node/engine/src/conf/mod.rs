//! Official config files: mlperf.conf, user.conf, audit.config, read exactly as the official LoadGen reads them, oddities
//! included, but not in silence: whatever has another effect than its looks leaves a remark with its line.
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
//! Pure: texts go in. Who opens files, and for whom, is the node's business.

pub mod keys;
mod lookup;
mod number;
pub mod origin;
pub mod parse;
pub mod rules;
