//! One run at this node: what it is, what it has admitted, what it has counted.

pub(crate) mod codecs;
pub(crate) mod connections;
pub(crate) mod state;
