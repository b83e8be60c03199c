//! Where samples come from: whatever gives tensors by index.

use std::io;
use std::path::PathBuf;

use bytes::Bytes;
use lon_image::ImageError;
use lon_proto::sample::{DType, SampleError, Tensor};

use crate::files::sums::SumError;

/// Samples at most: an index has 32 bits.
pub(crate) const MAX_COUNT: usize = u32::MAX as usize;

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
    pub(crate) fn tensor(&self, index: usize) -> Result<Tensor, SampleError> {
        let len = self.data.len() / self.count.max(1);
        Tensor::new(self.dtype, &self.dims, self.data.slice(index * len..(index + 1) * len))
    }
}
