//! Service of a node for its clients: the calls of `lon.v1`, and the streams that carry samples.
//!
//! - [`calls`]: the calls, and opening a stream;
//! - [`models`]: the models that answer, each with queues of its own;
//! - [`tenants`]: what `StartRun` asks for: models, codecs, limits;
//! - [`claim`]: which run has the node, and when it loses it;
//! - [`describe`]: who and what the node is.

pub(crate) mod calls;
pub(crate) mod claim;
pub mod describe;
pub(crate) mod models;
pub(crate) mod tenants;
