//! From token ids and texts to the inputs of a model, and from a sample to the body of a request.
//!
//! - [`inputs`]: what a benchmark's model takes;
//! - [`tokens`]: token ids as such inputs;
//! - [`wordpiece`]: texts as pieces of words;
//! - [`passages`]: questions about passages, cut into windows;
//! - [`kserve`]: samples as requests to servers that are no SUT nodes.

pub mod inputs;
pub mod kserve;
pub mod passages;
pub(crate) mod tokens;
pub(crate) mod wordpiece;
