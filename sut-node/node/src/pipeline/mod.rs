//! Pre-processing before inference, and post-processing after it. Pure: tensors go in, tensors come out; no threads,
//! queues or clocks.
//!
//! - [`preprocessing`]: what `--preprocess` asks for, one of the next two;
//! - [`images`]: pixels or JPEG files become what the model takes;
//! - [`token_ids`]: token ids become all inputs of a model that reads two texts;
//! - [`detections`]: what RetinaNet's heads give becomes boxes;
//! - [`post`]: what is made of a model's outputs before they leave (`--postprocess`).

pub mod detections;
pub mod images;
pub mod post;
pub mod preprocessing;
pub mod token_ids;

pub use preprocessing::Preprocessing;

use crate::tensor::Signature;

/// Returns true when samples of a model with these inputs can differ in shape.
pub(crate) fn varies(inputs: &Signature) -> bool {
    inputs.iter().any(|spec| spec.dims.iter().skip(1).any(Option::is_none))
}
