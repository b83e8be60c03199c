//! What stands around inference: pre-processing in front of it, post-processing behind it. Pure: tensors in, tensors out;
//! threads, queues and clocks are others'.
//!
//! - [`images`]: pixels or JPEG files become what the model takes (`--preprocess`);
//! - [`post`]: what is made of a model's outputs before they leave (`--postprocess`).

pub mod images;
pub mod post;

use crate::tensor::Signature;

/// Whether samples of a model with these inputs can differ in shape.
pub(crate) fn varies(inputs: &Signature) -> bool {
    inputs.iter().any(|spec| spec.dims.iter().skip(1).any(Option::is_none))
}
