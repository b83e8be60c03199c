//! From texts and token ids to the inputs of a model, and from a sample to the body of a KServe request.
//!
//! - [`inputs`]: the inputs of a benchmark's model;
//! - `tokens`: from token ids to tensors of such inputs;
//! - `wordpiece`: from a text to BERT's token ids;
//! - [`passages`]: questions about passages, cut into windows of token ids;
//! - [`kserve`]: samples as requests to servers that are not SUT nodes.

pub mod inputs;
pub mod kserve;
pub mod passages;
pub(crate) mod tokens;
pub(crate) mod wordpiece;
