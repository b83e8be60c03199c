//! The path that was given: parts of it, the dataset that is called by it, the error that names it.

use std::path::{Path, PathBuf};

use crate::accuracy::Truths;
use crate::dataset::reader::Source;
use crate::dataset::{Dataset, DatasetError};

/// Folder and name of a file that was given.
pub(crate) fn split(file: &Path) -> (PathBuf, String) {
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    (folder.unwrap_or(Path::new(".")).to_owned(), name)
}

pub(crate) fn named(path: &Path, source: impl Source + 'static, truths: Option<Truths>) -> Dataset {
    Dataset::new(path.display().to_string(), Box::new(source), truths)
}

pub(crate) fn content(file: &Path, reason: impl Into<String>) -> DatasetError {
    DatasetError::Content { file: file.to_owned(), reason: reason.into() }
}
