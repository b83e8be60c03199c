//! Labels in a file of their own.

use std::path::Path;

use crate::accuracy::{Truth, Truths};
use crate::dataset::DatasetError;
use crate::dataset::formats::npy;
use crate::dataset::opened::content;
use crate::files::disk;
use crate::files::sums::{SumError, Sums};

/// Names that are looked for beside samples.
pub(super) const NAMES: [&str; 2] = ["labels.npy", "labels.txt"];

/// The labels that lie in the samples' folder, if any do.
pub(super) fn beside(folder: &Path, count: usize) -> Result<Option<Truths>, DatasetError> {
    match NAMES.into_iter().find(|name| folder.join(name).exists()) {
        Some(name) => read(folder, name, count).map(Some),
        None => Ok(None),
    }
}

/// The labels of a file, as many as there are samples.
pub(super) fn read(folder: &Path, name: &str, count: usize) -> Result<Truths, DatasetError> {
    let file = folder.join(name);
    if let Some(sums) = Sums::beside(folder)? {
        sums.verify(name)?;
    }
    let bytes = disk::read(&file).map_err(|source| SumError::Read { file: file.clone(), source })?;
    let labels = match name.ends_with(".npy") {
        true => npy::labels(&bytes).map_err(|reason| content(&file, reason))?,
        false => lines(&String::from_utf8_lossy(&bytes)).map_err(|reason| content(&file, reason))?,
    };
    if labels.len() > count {
        return Err(content(&file, format!("{} labels for {count} samples", labels.len())));
    }
    let mut truths: Vec<Option<Truth>> = labels.into_iter().map(|label| Some(Truth::Class(label))).collect();
    truths.resize(count, None);
    Ok(Truths::Samples(truths))
}

fn lines(text: &str) -> Result<Vec<i64>, String> {
    let label = |(number, line): (usize, &str)| {
        line.trim().parse().map_err(|_| format!("line {}: '{line}' is not a whole number", number + 1))
    };
    text.trim_end().lines().enumerate().map(label).collect()
}
