//! The formats of datasets, one file each. Every format opens a path, or a text, into a reader of samples.
//!
//! | file | path | samples | labels |
//! |---|---|---|---|
//! | [`synthetic`] | `synthetic:...`, no path | generated | none |
//! | [`digits`] | none, or a folder with `images.npy` and `labels.npy` | the digits benchmark's | in `labels.npy` |
//! | [`images`] | folder with `val_map.txt` | JPEGs, decoded and preprocessed, or unchanged | in `val_map.txt` |
//! | [`images`] | folder with `val2017` and `annotations/instances_val2017.json` (COCO) | the same | boxes |
//! | [`squad`] | folder with `dev-v1.1.json` and `vocab.txt` | windows of passages | in `dev-v1.1.json` |
//! | [`arrays`] | `FILE.npy` | one array, whose first axis counts samples | beside it |
//! | [`arrays`] | folder of `.npy` files | a file each, in the order of their names | in the folder |
//! | [`npz`] | `FILE.npz` | an array for each input | array `labels` or `label`, or beside it |
//! | [`npz`] | folder of `.npz` files | a file each, with an array for each input, of any size | in the folder |
//! | [`lines`] | `FILE.jsonl` | JSON lines: token ids or prompts | in the lines |
//! | [`manifest`] | `FILE.toml`, or folder with `dataset.toml` | raw tensors | as the manifest says |
//!
//! "Beside it" means `labels.npy` (one dimension) or `labels.txt` (a whole number on each line) in the same folder
//! ([`labels`]). When there are fewer labels than samples, the last samples have none. Right answers of other kinds are
//! in other files ([`truths`]). When the folder has a `SHA256SUMS`, every file that is used must be in it and have its
//! sum.
//!
//! What several formats need:
//! - [`blocks`]: equal tensors that lie one after the other;
//! - [`npy`]: the headers of numpy's files.

pub(crate) mod arrays;
mod blocks;
pub(crate) mod digits;
pub(crate) mod images;
mod labels;
pub(crate) mod lines;
pub(crate) mod manifest;
pub(crate) mod npy;
pub(crate) mod npz;
pub(crate) mod squad;
pub(crate) mod synthetic;
mod truths;
