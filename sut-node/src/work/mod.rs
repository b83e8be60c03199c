//! What happens to one sample between the connection that it came over and the answer that leaves.

pub(crate) mod batches;
pub(crate) mod decode;
pub(crate) mod lane;
pub(crate) mod probe;
pub(crate) mod queue;
pub(crate) mod reader;
pub(crate) mod threads;
pub(crate) mod token_streams;
