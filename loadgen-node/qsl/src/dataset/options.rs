//! What is asked of a dataset's files when they are opened.

use lon_image::Preprocess;

/// What is known when a dataset is opened.
#[derive(Clone, Debug, Default)]
pub struct OpenOptions {
    /// What is done to images; the benchmark's own unless given.
    pub preprocess: Option<Preprocess>,
    /// Images are sent as they are: nothing is done to them here.
    pub original: bool,
    /// Only labels are wanted, so that files of samples may be missing.
    pub labels_only: bool,
}
