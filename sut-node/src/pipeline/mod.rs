//! What stands around inference: pre-processing in front of it, post-processing behind it. Pure: tensors in, tensors out;
//! threads, queues and clocks are others'.
//!
//! - [`post`]: what is made of a model's outputs before they leave (`--postprocess`).

pub mod post;
