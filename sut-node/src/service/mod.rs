//! The calls of `lon.v1` that a node answers.

pub(crate) mod calls;
pub(crate) mod describe;
