//! The samples of the digits benchmark: those inside the program, or a folder of the same files.

use std::path::Path;

use super::npy;
use crate::accuracy::{Truth, Truths};
use crate::dataset::error::{DatasetError, content};
use crate::dataset::opened::Opened;
use crate::digits::{self, IMAGES, LABELS};
use crate::files::sums;

/// Opens the samples inside the program.
///
/// # Errors
/// The files inside the program do not have their sums.
pub(crate) fn embedded() -> Result<Opened, DatasetError> {
    build(digits::FOLDER.as_ref(), digits::images()?, digits::labels()?)
}

/// Opens a folder with `images.npy`, `labels.npy` and `SHA256SUMS`.
///
/// # Errors
/// A file is missing or altered, or has the wrong content.
pub(crate) fn from_folder(folder: &Path) -> Result<Opened, DatasetError> {
    let images = sums::read(folder, IMAGES)?;
    let labels = sums::read(folder, LABELS)?;
    build(folder, &images, &labels)
}

/// Tells whether a folder has at least one of these files, and so is meant to have all of them.
pub(crate) fn is_folder_of_some(folder: &Path) -> bool {
    [IMAGES, LABELS, sums::SUMS_FILE].iter().any(|name| folder.join(name).exists())
}

/// Tells whether a folder has both the images and the labels.
pub(crate) fn is_folder(folder: &Path) -> bool {
    folder.join(IMAGES).exists() && folder.join(LABELS).exists()
}

fn build(folder: &Path, images: &[u8], labels: &[u8]) -> Result<Opened, DatasetError> {
    let content = |file: &str, reason: String| content(&folder.join(file), reason);
    let images = npy::samples(images.to_vec()).map_err(|reason| content(IMAGES, reason))?;
    let labels = npy::labels(labels).map_err(|reason| content(LABELS, reason))?;
    if labels.len() != images.count {
        let reason = format!("{} labels for {} images", labels.len(), images.count);
        return Err(content(LABELS, reason));
    }
    let truths = Truths::Samples(labels.into_iter().map(|label| Some(Truth::Class(label))).collect());
    Ok(Opened::new("digits", images, Some(truths)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::Dataset;
    use lon_proto::sample;

    #[test]
    fn the_embedded_files_are_whole_and_every_digit_is_there() {
        let mut digits = Dataset::from(embedded().unwrap());
        assert_eq!((digits.total_count(), digits.performance_count()), (450, 450));
        let labels = digits.truths().unwrap().samples().to_vec();
        let count = |digit| labels.iter().filter(|label| **label == Some(Truth::Class(digit))).count();
        assert!((0..10).all(|digit| count(digit) >= 40));
        assert!(!digits::model().unwrap().is_empty());
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
