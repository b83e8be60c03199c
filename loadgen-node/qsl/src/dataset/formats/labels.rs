//! Labels in a file of their own beside the samples: `labels.npy` or `labels.txt`.
//!
//! A line of `labels.txt` is a whole number. Or it is several with blanks between them, where a sample consists of
//! several items, each with a label.

use std::path::Path;

use lon_proto::files::{self, Limit};

use super::npy;
use crate::accuracy::{Truth, Truths};
use crate::dataset::error::{DatasetError, content, unreadable};
use crate::files::sums::Sums;

/// The names of a file of labels.
pub(super) const NAMES: [&str; 2] = ["labels.npy", "labels.txt"];

/// Reads the file of labels in the samples' folder; none when there is no such file, and an error when there are two.
/// `count` is the number of samples.
pub(super) fn of_folder(folder: &Path, count: usize) -> Result<Option<Truths>, DatasetError> {
    let mut names = NAMES.into_iter().filter(|name| folder.join(name).exists());
    match (names.next(), names.next()) {
        (Some(name), Some(other)) => {
            Err(content(folder, format!("it has {name} and {other}: keep the one that has the right labels")))
        }
        (Some(name), None) => read(folder, name, count).map(Some),
        (None, _) => Ok(None),
    }
}

/// Reads a file of labels for `count` samples. The last samples have no label when the file has fewer.
pub(super) fn read(folder: &Path, name: &str, count: usize) -> Result<Truths, DatasetError> {
    let file = folder.join(name);
    if let Some(sums) = Sums::of_folder(folder)? {
        sums.verify(name)?;
    }
    let bytes = files::bytes(&file, Limit::LIST).map_err(unreadable(&file))?;
    let labels = match name.ends_with(".npy") {
        true => npy::labels(&bytes).map(|labels| labels.into_iter().map(Truth::Class).collect()),
        false => lines(&files::into_text(bytes).map_err(unreadable(&file))?),
    };
    let labels: Vec<Truth> = labels.map_err(|reason| content(&file, reason))?;
    if labels.len() > count {
        let why = format!("{} labels for {count} samples: a line for each sample, in the same order", labels.len());
        return Err(content(&file, why));
    }
    let mut truths: Vec<Option<Truth>> = labels.into_iter().map(Some).collect();
    truths.resize(count, None);
    Ok(Truths::Samples(truths))
}

/// Reads the label or labels from each line.
fn lines(text: &str) -> Result<Vec<Truth>, String> {
    let label = |(number, line): (usize, &str)| {
        let labels: Result<Vec<i64>, _> = line.split_whitespace().map(str::parse).collect();
        match labels.as_deref() {
            Ok([label]) => Ok(Truth::Class(*label)),
            Ok(labels @ [_, _, ..]) => Ok(Truth::Classes(labels.to_vec())),
            _ => Err(format!(
                "line {}: '{line}' is not a whole number: a line for each sample has the number of its class, from 0",
                number + 1
            )),
        }
    };
    text.trim_end().lines().enumerate().map(label).collect()
}
