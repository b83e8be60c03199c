//! The options of opening a dataset.

use lon_image::Preprocess;

use super::aggregate::Aggregate;
use crate::encode::inputs::Inputs;

/// The options of opening a dataset.
#[derive(Clone, Debug, Default)]
pub struct OpenOptions {
    /// The preprocessing of images; a folder of images needs it, unless the images are sent as they are.
    pub preprocess: Option<Preprocess>,
    /// Send images as they are: neither decoded nor preprocessed on this side.
    pub original: bool,
    /// Open the dataset only for its labels, so that files of samples may be missing.
    pub labels_only: bool,
    /// The inputs of the model, which token ids and named arrays are made to fit; unset: the defaults of the format.
    pub inputs: Option<Inputs>,
    /// Send token ids alone, of which the SUT node makes the model's other inputs.
    pub ids_alone: bool,
    /// Make samples of several items each.
    pub aggregate: Option<Aggregate>,
}
