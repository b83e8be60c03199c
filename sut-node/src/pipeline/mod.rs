//! What is done before and after inference: pre-processing and post-processing. Pure: tensors go in, tensors come out;
//! no threads, queues or clocks.
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
