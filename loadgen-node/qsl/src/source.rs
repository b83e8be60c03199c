//! Where samples come from when a user brings them: files and folders, read when they are needed.
//!
//! What `--dataset PATH` is decides how it is read:
//!
//! | PATH | samples | labels |
//! |---|---|---|
//! | folder with `val_map.txt` | JPEGs, decoded and preprocessed (or as they are, with codec `original`) | in `val_map.txt` |
//! | folder with `dev-v1.1.json` and `vocab.txt` | SQuAD v1.1 in windows of 384 pieces, as MLPerf's BERT reads it | answers in `dev-v1.1.json` |
//! | `FILE.npy` | an array; the first axis counts samples | beside it |
//! | folder of `.npy` files | a file each, in the order of their names | in the folder |
//! | `FILE.npz` | several inputs each: named arrays of equal first axis | array `labels` or `label`, or beside it |
//! | `FILE.jsonl` | JSON lines: token ids or prompts | in the lines |
//! | `FILE.toml`, or folder with `dataset.toml` | raw tensors, see [`Manifest`](self) below | as it says |
//!
//! "Beside it" is `labels.txt` (a whole number a line) or `labels.npy` (one dimension) in the same folder; fewer labels
//! than samples leave the last ones without. With a `SHA256SUMS` in the folder the files that are used must be in it,
//! and be what it says.
//!
//! SQuAD's folder has the development set as it is published, and the vocabulary of an uncased BERT, a piece a line. A
//! sample is a window, not a question: a long passage takes several (see [`crate::reading`]). Its inputs are what the
//! benchmark asks for, padded with zeros; without such inputs ids, mask and segments, `i64[384]` each.
//!
//! JSON lines have the keys `prompt` (text) or `input_ids` (whole numbers), and may have `attention_mask`,
//! `token_type_ids`, `max_tokens`, `label` (a class) and `answers` (texts of which any is right). A prompt becomes
//! `u8[bytes]`, its UTF-8, and `max_tokens` beside it a second tensor, `i32[]`. Token ids become what the benchmark's
//! inputs ask for, of the first type where there are several, padded with zeros where their length is fixed; without
//! such inputs `i64[tokens]`, and `i32[]` for `max_tokens`.
//!
//! A manifest of raw tensors, little-endian and row-major:
//!
//! ```toml
//! schema = 1
//! samples = 100
//! labels = "labels.txt"              # optional; or a .npy
//! [[tensors]]                        # one for each input
//! dtype = "f32"
//! dims = [3, 224, 224]               # of one sample
//! file = "images.bin"                # all samples one after the other,
//! sha256 = "..."                     # optional
//! # files = ["0.bin", "1.bin"]       # or a file for each
//! ```

use std::io;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use lon_image::{ImageError, Preprocess};
use lon_proto::sample::{DType, SampleError, Tensor};

use crate::accuracy::Truths;
use crate::dataset::{Dataset, DatasetError};
use crate::inputs::Inputs;
use crate::sums::SumError;

mod arrays;
mod images;
mod labels;
mod lines;
mod manifest;
mod squad;
#[cfg(test)]
mod tests;

pub(crate) use images::MAP as IMAGES;
pub(crate) use squad::QUESTIONS as SQUAD;

/// Gives the tensors of samples. Several threads ask it at once.
pub(crate) trait Source: std::fmt::Debug + Send + Sync {
    /// How many samples there are.
    fn count(&self) -> usize;

    /// The tensors of one sample; `index` is below [`Source::count`].
    fn tensors(&self, index: usize) -> Result<Vec<Tensor>, ReadError>;

    /// Whether a sample takes memory only while it is asked for.
    fn is_read_when_needed(&self) -> bool {
        false
    }

    /// Whether samples are files with a compression of their own.
    fn has_originals(&self) -> bool {
        false
    }

    /// The file of one sample as it is. Asked only of who has them.
    fn original(&self, _index: usize) -> Result<Bytes, ReadError> {
        Err(ReadError::NoOriginal)
    }

    /// How many files are in a list of sums and were not compared with it when the dataset was opened.
    fn listed_files(&self) -> usize {
        0
    }

    /// Compares one of them.
    fn verify(&self, _file: usize) -> Result<(), SumError> {
        Ok(())
    }
}

/// Why a sample cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// Its tensors cannot be laid out.
    #[error(transparent)]
    Layout(#[from] SampleError),
    /// Its file cannot be read.
    #[error("cannot read {file}: {source}")]
    File {
        /// Which file.
        file: PathBuf,
        /// The operating system's answer.
        source: io::Error,
    },
    /// Its image cannot be decoded or preprocessed.
    #[error("{file}: {source}")]
    Image {
        /// Which file.
        file: PathBuf,
        /// Why not.
        source: ImageError,
    },
    /// Its file holds something else.
    #[error("{file}: {reason}")]
    Content {
        /// Which file.
        file: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// It has no compression of its own.
    #[error("the sample is no file with a compression of its own")]
    NoOriginal,
}

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

/// Samples at most: an index has 32 bits.
pub(crate) const MAX_COUNT: usize = u32::MAX as usize;

/// Opens what `path` is.
pub(crate) fn open(path: &Path, options: &OpenOptions, inputs: Option<&Inputs>) -> Result<Dataset, DatasetError> {
    let refused = |reason: String| DatasetError::Form { path: path.to_owned(), reason };
    let kind = std::fs::metadata(path).map_err(|error| refused(error.to_string()))?;
    if kind.is_dir() {
        return match () {
            () if path.join(images::MAP).exists() => images::open(path, options),
            () if path.join(squad::QUESTIONS).exists() => squad::open(path, inputs),
            () if path.join(manifest::NAME).exists() => manifest::open(&path.join(manifest::NAME)),
            () if arrays::is_folder(path) => arrays::open_folder(path),
            () => Err(refused(format!(
                "the folder is no dataset: it has neither {} nor {} nor {} nor .npy files",
                images::MAP,
                squad::QUESTIONS,
                manifest::NAME
            ))),
        };
    }
    // A pipe would be waited for, for as long as nobody writes to it.
    if !kind.is_file() {
        return Err(refused("neither a file nor a folder".to_owned()));
    }
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("npy") => arrays::open_npy(path),
        Some("npz") => arrays::open_npz(path, inputs),
        Some("jsonl") => lines::open(path, inputs),
        Some("toml") => manifest::open(path),
        _ => Err(refused("no known form of dataset (.npy, .npz, .jsonl, .toml, or a folder)".to_owned())),
    }
}

/// Folder and name of a file that was given.
fn split(file: &Path) -> (PathBuf, String) {
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    (folder.unwrap_or(Path::new(".")).to_owned(), name)
}

fn named(path: &Path, source: impl Source + 'static, truths: Option<Truths>) -> Dataset {
    Dataset::new(path.display().to_string(), Box::new(source), truths)
}

fn content(file: &Path, reason: impl Into<String>) -> DatasetError {
    DatasetError::Content { file: file.to_owned(), reason: reason.into() }
}

/// Equal tensors in one block of memory, one after the other.
#[derive(Debug)]
pub(crate) struct Array {
    pub(crate) dtype: DType,
    /// Of one sample.
    pub(crate) dims: Vec<u32>,
    pub(crate) count: usize,
    pub(crate) data: Bytes,
}

impl Source for Array {
    fn count(&self) -> usize {
        self.count
    }

    fn tensors(&self, index: usize) -> Result<Vec<Tensor>, ReadError> {
        Ok(vec![self.tensor(index)?])
    }
}

impl Array {
    fn tensor(&self, index: usize) -> Result<Tensor, SampleError> {
        let len = self.data.len() / self.count.max(1);
        Tensor::new(self.dtype, &self.dims, self.data.slice(index * len..(index + 1) * len))
    }
}
