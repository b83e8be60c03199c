//! Samples by index, as bytes that are ready to be sent.

use std::path::PathBuf;

use bytes::Bytes;
use lon_proto::sample::{self, DType, Mismatch, SampleError, Signature, Tensor};

use crate::sums::SumError;
use crate::synthetic::SyntheticError;

/// A dataset, of which some samples are loaded: encoded and in memory.
#[derive(Debug)]
pub struct Dataset {
    name: String,
    source: Box<dyn Source>,
    labels: Option<Vec<i64>>,
    /// By sample index; empty where not loaded.
    payloads: Vec<Bytes>,
}

/// Where the tensors of a dataset come from.
pub(crate) trait Source: std::fmt::Debug + Send {
    /// How many samples there are.
    fn count(&self) -> usize;
    /// The tensors of one sample; `index` is below [`Source::count`].
    fn tensors(&self, index: usize) -> Result<Vec<Tensor>, SampleError>;
}

/// Why a dataset cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DatasetError {
    /// The benchmark has no dataset of its own.
    #[error("benchmark {0} needs a dataset: give for example --dataset {1}")]
    Needed(&'static str, &'static str),
    /// The benchmark's own data cannot be read yet.
    #[error(
        "the dataset of {0} has to be given with --dataset; so far synthetic:DTYPE[DIMS]xCOUNT (any shape), \
         for example {1}"
    )]
    NotYet(&'static str, &'static str),
    /// A file is missing, truncated or altered.
    #[error(transparent)]
    Sum(#[from] SumError),
    /// A file does not hold what it should.
    #[error("{file}: {reason}")]
    Content {
        /// Which file.
        file: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The text after `synthetic:`.
    #[error(transparent)]
    Synthetic(#[from] SyntheticError),
    /// A sample that cannot be encoded.
    #[error("sample {index} of {dataset}: {source}")]
    Sample {
        /// The dataset.
        dataset: String,
        /// Which sample.
        index: usize,
        /// Why not.
        source: SampleError,
    },
    /// An index beyond the end.
    #[error("{dataset} has {count} samples, there is no sample {index}")]
    NoSample {
        /// The dataset.
        dataset: String,
        /// The index asked for.
        index: usize,
        /// How many there are.
        count: usize,
    },
}

impl Dataset {
    pub(crate) fn new(name: String, source: Box<dyn Source>, labels: Option<Vec<i64>>) -> Dataset {
        Dataset { name, source, labels, payloads: Vec::new() }
    }

    /// What it is called in results.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Number of samples (LoadGen's total sample count).
    pub fn total_count(&self) -> usize {
        self.source.count()
    }

    /// Samples guaranteed to fit into memory together (LoadGen's performance sample count). All of them, so far.
    pub fn performance_count(&self) -> usize {
        self.source.count()
    }

    /// What is right, by sample index.
    pub fn labels(&self) -> Option<&[i64]> {
        self.labels.as_deref()
    }

    /// Encodes these samples, so that [`Dataset::payload`] has them. Untimed; the codec's work would be here too.
    ///
    /// # Errors
    /// An index beyond the end, or a sample that cannot be encoded.
    pub fn load(&mut self, indices: impl Iterator<Item = usize>) -> Result<(), DatasetError> {
        let count = self.source.count();
        self.payloads.resize(count, Bytes::new());
        for index in indices {
            let dataset = || self.name.clone();
            let slot = self.payloads.get_mut(index);
            let slot = slot.ok_or_else(|| DatasetError::NoSample { dataset: dataset(), index, count })?;
            if slot.is_empty() {
                let encoded = self.source.tensors(index).and_then(|tensors| sample::encode(&tensors));
                *slot = encoded.map_err(|source| DatasetError::Sample { dataset: dataset(), index, source })?;
            }
        }
        Ok(())
    }

    /// Lets go of what was loaded.
    pub fn unload(&mut self) {
        self.payloads = Vec::new();
    }

    /// The bytes of a loaded sample, shared. Empty when it is not loaded.
    pub fn payload(&self, index: usize) -> Bytes {
        self.payloads.get(index).cloned().unwrap_or_default()
    }

    /// Bytes of one encoded sample, judged by the first.
    ///
    /// # Errors
    /// The first sample cannot be read.
    pub fn sample_bytes(&self) -> Result<u64, SampleError> {
        Ok(sample::encode(&self.source.tensors(0)?)?.len() as u64)
    }

    /// Whether a model of this signature takes the samples, judged by the first.
    ///
    /// # Errors
    /// It does not; both signatures are shown.
    pub fn fits(&self, model: &Signature) -> Result<(), FitError> {
        let first = self.source.tensors(0)?;
        Ok(model.accepts(&first)?)
    }
}

/// Why a model and a dataset do not go together.
#[derive(Debug, thiserror::Error)]
pub enum FitError {
    /// The signatures differ.
    #[error(transparent)]
    Mismatch(#[from] Mismatch),
    /// The first sample cannot be read.
    #[error(transparent)]
    Sample(#[from] SampleError),
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

    fn tensors(&self, index: usize) -> Result<Vec<Tensor>, SampleError> {
        let len = self.data.len() / self.count.max(1);
        Ok(vec![Tensor::new(self.dtype, &self.dims, self.data.slice(index * len..(index + 1) * len))?])
    }
}
