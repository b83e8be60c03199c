//! The digits benchmark: model, samples and labels that ship inside the program, or a folder of the same files.
//!
//! Source and licence of the data, and how the model was trained, are in `digits/README.md` beside this crate's
//! sources. Shapes: a sample is `u8[1,8,8]` (grey levels 0 to 16), an answer `f32[10]` (one logit per digit).

use std::path::Path;

use crate::accuracy::{Truth, Truths};
use crate::dataset::formats::npy;
use crate::dataset::{Dataset, DatasetError};
use crate::files::sums;

const IMAGES: &str = "images.npy";
const LABELS: &str = "labels.npy";
/// The model's file name.
pub const MODEL: &str = "digits.onnx";

/// The model, for a SUT node that is started with nothing installed.
pub static MODEL_BYTES: &[u8] = include_bytes!("../../../digits/digits.onnx");
static IMAGE_BYTES: &[u8] = include_bytes!("../../../digits/images.npy");
static LABEL_BYTES: &[u8] = include_bytes!("../../../digits/labels.npy");
static SUMS: &str = include_str!("../../../digits/SHA256SUMS");

/// The dataset inside the program.
///
/// # Errors
/// What was built in does not match its sums.
pub fn embedded() -> Result<Dataset, DatasetError> {
    for (name, content) in [(IMAGES, IMAGE_BYTES), (LABELS, LABEL_BYTES)] {
        check_embedded(name, content)?;
    }
    build("digits (embedded)".as_ref(), IMAGE_BYTES, LABEL_BYTES)
}

/// The model inside the program.
///
/// # Errors
/// What was built in does not match its sum.
pub fn model() -> Result<&'static [u8], DatasetError> {
    check_embedded(MODEL, MODEL_BYTES)?;
    Ok(MODEL_BYTES)
}

/// A folder with `images.npy`, `labels.npy` and `SHA256SUMS`.
///
/// # Errors
/// A file is missing, altered, or does not hold what it should.
pub fn from_folder(folder: &Path) -> Result<Dataset, DatasetError> {
    let images = sums::read(folder, IMAGES)?;
    let labels = sums::read(folder, LABELS)?;
    build(folder, &images, &labels)
}

/// Whether a folder is meant to have these files.
pub(crate) fn is_folder_of_some(folder: &Path) -> bool {
    [IMAGES, LABELS, sums::SUMS_FILE].iter().any(|name| folder.join(name).exists())
}

/// Whether a folder has these files.
pub(crate) fn is_folder(folder: &Path) -> bool {
    folder.join(IMAGES).exists() && folder.join(LABELS).exists()
}

fn check_embedded(name: &str, content: &[u8]) -> Result<(), DatasetError> {
    let inside = Path::new("digits (embedded)");
    Ok(sums::check(&inside.join(name), name, content, &inside.join(sums::SUMS_FILE), SUMS)?)
}

fn build(folder: &Path, images: &[u8], labels: &[u8]) -> Result<Dataset, DatasetError> {
    let content = |file: &str, reason: String| DatasetError::Content { file: folder.join(file), reason };
    let images = npy::samples(images.to_vec()).map_err(|reason| content(IMAGES, reason))?;
    let labels = npy::labels(labels).map_err(|reason| content(LABELS, reason))?;
    if labels.len() != images.count {
        let reason = format!("{} labels for {} images", labels.len(), images.count);
        return Err(content(LABELS, reason));
    }
    Ok(Dataset::new(
        "digits".to_owned(),
        Box::new(images),
        Some(Truths::Samples(labels.into_iter().map(|label| Some(Truth::Class(label))).collect())),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use lon_proto::sample;

    #[test]
    fn the_embedded_files_are_whole_and_every_digit_is_there() {
        let mut digits = embedded().unwrap();
        assert_eq!((digits.total_count(), digits.performance_count()), (450, 450));
        let labels = digits.truths().unwrap().samples().to_vec();
        let count = |digit| labels.iter().filter(|label| **label == Some(Truth::Class(digit))).count();
        assert!((0..10).all(|digit| count(digit) >= 40));
        assert!(!model().unwrap().is_empty());
        assert!(digits.payload(449).is_empty());
        digits.load([449].into_iter()).unwrap();
        let tensors = sample::decode(digits.payload(449)).unwrap();
        assert_eq!(tensors[0].to_string(), "u8[1,8,8]");
        assert!(tensors[0].data().iter().all(|&grey| grey <= 16));
        digits.unload();
        assert!(digits.payload(449).is_empty());
        assert!(digits.load([450].into_iter()).is_err());
    }
}
