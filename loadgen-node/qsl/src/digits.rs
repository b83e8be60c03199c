//! The files of the digits benchmark that are part of the program: model, images and labels, with their sums.
//!
//! Their source and licence, and how the model was trained, are in `digits/README.md` beside this crate's sources. A
//! sample is `u8[1,8,8]` (grey levels 0 to 16), an answer is `f32[10]` (one logit for each digit).

use std::path::Path;

use crate::files::sums::{SumError, Sums};

/// The file name of the images.
pub(crate) const IMAGES: &str = "images.npy";
/// The file name of the labels.
pub(crate) const LABELS: &str = "labels.npy";
/// The file name of the model.
pub const MODEL: &str = "digits.onnx";
/// The name that messages give to the folder of these files.
pub(crate) const FOLDER: &str = "digits (embedded)";

/// The model, not compared with its sum.
pub static MODEL_BYTES: &[u8] = include_bytes!("../digits/digits.onnx");
static IMAGE_BYTES: &[u8] = include_bytes!("../digits/images.npy");
static LABEL_BYTES: &[u8] = include_bytes!("../digits/labels.npy");
static SUMS: &str = include_str!("../digits/SHA256SUMS");

/// Returns the model, for a SUT node that is started with nothing installed.
///
/// # Errors
/// The model does not have its sum.
pub fn model() -> Result<&'static [u8], SumError> {
    checked(MODEL, MODEL_BYTES)
}

/// Returns the file of the images.
///
/// # Errors
/// The images do not have their sum.
pub(crate) fn images() -> Result<&'static [u8], SumError> {
    checked(IMAGES, IMAGE_BYTES)
}

/// Returns the file of the labels.
///
/// # Errors
/// The labels do not have their sum.
pub(crate) fn labels() -> Result<&'static [u8], SumError> {
    checked(LABELS, LABEL_BYTES)
}

fn checked(name: &str, content: &'static [u8]) -> Result<&'static [u8], SumError> {
    Sums::parse(Path::new(FOLDER), SUMS)?.verify_content(name, content)?;
    Ok(content)
}
