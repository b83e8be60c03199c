//! Keys of TOML files that stand for flags of `loadgen-node run`: campaigns and mixes have them.
//!
//! | file | what it has |
//! |---|---|
//! | `key_values` | keys and values in the order of the file |
//! | `key` | the flag or setting that a key stands for |
//! | `test` | the test that the words of a command ask for |

pub(crate) mod key;
pub(crate) mod key_values;
pub(crate) mod test;
