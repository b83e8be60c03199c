//! Decode threads.

pub(crate) mod pool;
