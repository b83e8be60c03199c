//! Datasets that a user brings: files and folders, read when they are needed.
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

use std::path::Path;

use crate::dataset::{Dataset, DatasetError};
use crate::encode::inputs::Inputs;

use super::formats::{arrays, images, lines, manifest, squad};
use super::options::OpenOptions;

#[cfg(test)]
mod tests;

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
    if path.file_name().is_some_and(|name| name == squad::QUESTIONS) {
        return Err(refused(format!("give the folder that {} is in, with the model's vocabulary", squad::QUESTIONS)));
    }
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("npy") => arrays::open_npy(path),
        Some("npz") => arrays::open_npz(path, inputs),
        Some("jsonl") => lines::open(path, inputs),
        Some("toml") => manifest::open(path),
        _ => Err(refused("no known form of dataset (.npy, .npz, .jsonl, .toml, or a folder)".to_owned())),
    }
}
