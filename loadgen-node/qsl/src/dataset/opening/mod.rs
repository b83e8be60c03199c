//! From the text that names a dataset to its reader.
//!
//! A text is a description of synthetic samples, or the path of a file or folder; what the path is decides which of the
//! [`formats`](super::formats) reads it.

use std::path::Path;

use super::error::DatasetError;
use super::formats::{arrays, digits, images, lines, manifest, npz, squad, synthetic};
use super::opened::Opened;
use super::options::OpenOptions;

#[cfg(test)]
mod tests;

/// The format of a file or folder, judged by its name and, for a folder, by the files in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Images,
    Squad,
    ManifestFolder,
    NpyFolder,
    NpzFolder,
    Npy,
    Npz,
    Lines,
    Manifest,
}

impl Format {
    /// Returns the format of what lies at `path`, which need not exist when its name says it; none when it has no known
    /// format.
    pub(crate) fn of(path: &Path) -> Option<Format> {
        if path.is_dir() {
            return match () {
                () if images::is_folder(path) => Some(Format::Images),
                () if squad::is_folder(path) => Some(Format::Squad),
                () if path.join(manifest::NAME).exists() => Some(Format::ManifestFolder),
                () if arrays::is_folder(path) => Some(Format::NpyFolder),
                () if npz::is_folder(path) => Some(Format::NpzFolder),
                () => None,
            };
        }
        match path.extension()?.to_str()? {
            "npy" => Some(Format::Npy),
            "npz" => Some(Format::Npz),
            "jsonl" => Some(Format::Lines),
            "toml" => Some(Format::Manifest),
            _ => None,
        }
    }
}

/// Opens what `text` names: `synthetic:...`, a folder of the digits benchmark's files, or any other path.
pub(crate) fn open(text: &str, options: &OpenOptions) -> Result<Opened, DatasetError> {
    let path = Path::new(text);
    match () {
        () if synthetic::is_named_by(text) => aggregated(synthetic::open(text)?, options),
        // Its images are one array of all samples. In any other folder of arrays each file is a sample.
        () if digits::is_folder(path) => aggregated(digits::from_folder(path)?, options),
        () => open_format(path, Format::of(path), options),
    }
}

/// Opens a file or folder of this format, which must be [`Format::of`] the path.
pub(crate) fn open_format(path: &Path, format: Option<Format>, options: &OpenOptions) -> Result<Opened, DatasetError> {
    let refused = |reason: String| DatasetError::Form { path: path.to_owned(), reason };
    let is_folder = std::fs::metadata(path).map_err(|error| refused(error.to_string()))?.is_dir();
    let inputs = options.inputs.as_ref();
    let opened = match format {
        Some(Format::Images) => images::open(path, options),
        Some(Format::Squad) => squad::open(path, inputs),
        Some(Format::ManifestFolder) => manifest::open(&path.join(manifest::NAME)),
        Some(Format::NpyFolder) => arrays::open_folder(path),
        Some(Format::NpzFolder) => npz::open_folder(path, inputs),
        Some(Format::Npy) => arrays::open_npy(path),
        Some(Format::Npz) => npz::open(path, inputs),
        Some(Format::Lines) => lines::open(path, inputs),
        Some(Format::Manifest) => manifest::open(path),
        None if let Some(kind) = other_images(path) => {
            Err(refused(format!("{kind} is not read: convert the images to JPEG (with {}) or .npy", images::MAP)))
        }
        None if is_folder => Err(refused(format!(
            "the folder is no dataset: it has neither {} nor {} nor {} nor .npy or .npz files",
            images::MAP,
            squad::QUESTIONS,
            manifest::NAME
        ))),
        None if path.file_name().is_some_and(|name| name == squad::QUESTIONS) => {
            Err(refused(format!("give the folder that {} is in, with the model's vocabulary", squad::QUESTIONS)))
        }
        None => Err(refused("no known form of dataset (.npy, .npz, .jsonl, .toml, or a folder)".to_owned())),
    };
    aggregated(opened?, options)
}

/// Returns the kind of images that a path is, or that the folder has, where no reader takes them.
fn other_images(path: &Path) -> Option<String> {
    let kind = |path: &Path| path.extension()?.to_str().map(str::to_ascii_uppercase);
    let is_other = |kind: &String| ["PNG", "BMP", "GIF", "TIF", "TIFF", "WEBP"].contains(&kind.as_str());
    let inside = std::fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path());
    std::iter::once(path.to_owned()).chain(inside).find_map(|path| kind(&path).filter(is_other))
}

/// Makes samples of several items, where that is asked.
fn aggregated(opened: Opened, options: &OpenOptions) -> Result<Opened, DatasetError> {
    match &options.aggregate {
        Some(aggregate) => aggregate.apply(opened),
        None => Ok(opened),
    }
}
