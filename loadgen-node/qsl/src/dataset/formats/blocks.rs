//! Equal tensors that lie one after the other, in memory or in a file.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;

use bytes::Bytes;
use lon_proto::sample::{DType, SampleError, Tensor};

use crate::dataset::reader::{ReadError, Reader};

/// Equal tensors in memory, one for each sample.
#[derive(Debug)]
pub(super) struct Array {
    pub(super) dtype: DType,
    /// The dimensions of one tensor.
    pub(super) dims: Vec<u32>,
    /// The number of tensors.
    pub(super) count: usize,
    /// The elements of all tensors.
    pub(super) data: Bytes,
}

impl Array {
    /// Returns the tensor of one sample, which shares the memory of the array.
    pub(super) fn tensor(&self, index: usize) -> Result<Tensor, SampleError> {
        let len = self.data.len() / self.count.max(1);
        Tensor::new(self.dtype, &self.dims, self.data.slice(index * len..(index + 1) * len))
    }
}

impl Reader for Array {
    fn count(&self) -> usize {
        self.count
    }

    fn tensors(&self, index: usize) -> Result<Vec<Tensor>, ReadError> {
        Ok(vec![self.tensor(index)?])
    }
}

/// Equal tensors in a file, one for each sample.
#[derive(Debug)]
pub(super) struct Stored {
    pub(super) path: PathBuf,
    pub(super) file: File,
    pub(super) dtype: DType,
    /// The dimensions of one tensor.
    pub(super) dims: Vec<u32>,
    /// The offset of the first tensor in the file.
    pub(super) data_at: u64,
    /// The bytes of one tensor.
    pub(super) sample_bytes: usize,
}

impl Stored {
    /// Reads the tensor of one sample.
    pub(super) fn tensor(&self, index: usize) -> Result<Tensor, ReadError> {
        let mut data = vec![0; self.sample_bytes];
        let at = self.data_at + index as u64 * self.sample_bytes as u64;
        let outcome = self.file.read_exact_at(&mut data, at);
        outcome.map_err(|source| ReadError::File { file: self.path.clone(), source })?;
        Ok(Tensor::new(self.dtype, &self.dims, Bytes::from(data))?)
    }
}
