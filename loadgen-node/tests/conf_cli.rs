//! The command `conf`.
