//! The interface to a stored dataset: the tensors of a sample, by the sample's index.
//!
//! Each format in [`formats`](super::formats) has a reader of its own. A reader knows nothing of codecs and keeps no
//! sample that was read.

use std::io;
use std::path::PathBuf;

use bytes::Bytes;
use lon_image::ImageError;
use lon_proto::sample::{SampleError, Tensor};

use crate::encode::inputs::Inputs;
use crate::files::sums::SumError;

/// The largest number of samples in a dataset: a sample index has 32 bits.
pub(crate) const MAX_COUNT: usize = u32::MAX as usize;

/// Reads samples by index. Several threads call it at the same time.
pub(crate) trait Reader: std::fmt::Debug + Send + Sync {
    /// Returns the number of samples.
    fn count(&self) -> usize;

    /// Reads the tensors of one sample; `index` must be below [`Reader::count`].
    fn tensors(&self, index: usize) -> Result<Vec<Tensor>, ReadError>;

    /// Has token ids, of which it is not known what they become, become these inputs. Returns whether they do.
    ///
    /// # Errors
    /// A clause that says why they cannot.
    fn become_inputs(&mut self, _inputs: &Inputs) -> Result<bool, String> {
        Ok(false)
    }

    /// Returns the name of the file that one sample is; none where samples are not files.
    fn file_name(&self, _index: usize) -> Option<&str> {
        None
    }

    /// Tells whether a sample takes memory only while it is read.
    fn is_read_when_needed(&self) -> bool {
        false
    }

    /// Tells whether samples are files with a compression of their own, which [`Reader::original`] returns.
    fn has_originals(&self) -> bool {
        false
    }

    /// Returns the file of one sample, unchanged. Only a reader with [`Reader::has_originals`] has one.
    fn original(&self, _index: usize) -> Result<Bytes, ReadError> {
        Err(ReadError::NoOriginal)
    }

    /// Reads one sample as far as it can be read, whatever will be sent of it; nothing is kept.
    fn check(&self, index: usize) -> Result<(), ReadError> {
        self.tensors(index).map(drop)
    }

    /// Returns how many files [`Reader::verify`] can compare with a list of sums. Files that were compared when the
    /// dataset was opened do not count.
    fn listed_files(&self) -> usize {
        0
    }

    /// Returns the SHA-256 of the list of sums beside the dataset, in hexadecimal; none when there is no such list.
    fn sums_sha256(&self) -> Option<&str> {
        None
    }

    /// Returns the trace of an aggregation, a line `FIRST, END, COUNT` for each sample; none when each sample is one
    /// item.
    fn aggregation(&self) -> Option<String> {
        None
    }

    /// Compares one file with its sum; `file` must be below [`Reader::listed_files`].
    fn verify(&self, _file: usize) -> Result<(), SumError> {
        Ok(())
    }
}

/// The reasons why a sample cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The tensors do not form a valid sample.
    #[error(transparent)]
    Layout(#[from] SampleError),
    /// The operating system cannot read the sample's file.
    #[error("cannot read {file}: {source}")]
    File {
        /// The path of the file.
        file: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The image cannot be decoded or preprocessed.
    #[error("{file}: {source}")]
    Image {
        /// The path of the image.
        file: PathBuf,
        /// The error of the decoder or of the preprocessing.
        source: ImageError,
    },
    /// The file does not contain a sample of this dataset.
    #[error("{file}: {reason}")]
    Content {
        /// The path of the file.
        file: PathBuf,
        /// A clause that says what is wrong with it.
        reason: String,
    },
    /// Items that were to be one sample are not alike.
    #[error("item {item} has other types or shapes than item {first}, with which it was to be one sample")]
    Uneven {
        /// The index of the item.
        item: usize,
        /// The index of the sample's first item.
        first: usize,
    },
    /// The sample is not a file with a compression of its own.
    #[error("the sample is no file with a compression of its own")]
    NoOriginal,
}
