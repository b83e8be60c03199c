//! What can be wrong with a dataset.

use std::io;
use std::path::{Path, PathBuf};

use lon_proto::codec::{EncodeError, InflateError};
use lon_proto::sample::Mismatch;

use super::reader::ReadError;
use crate::encode::kserve::RequestError;
use crate::files::sums::SumError;

/// Why a dataset cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DatasetError {
    /// The benchmark has no dataset of its own.
    #[error("benchmark {0} needs a dataset: give for example --dataset {1}")]
    Needed(&'static str, String),
    /// It is no form of dataset that is known, or none for this benchmark.
    #[error("{path}: {reason}")]
    Form {
        /// What was given.
        path: PathBuf,
        /// Why not, and what can be.
        reason: String,
    },
    /// Samples that cannot be this benchmark's.
    #[error("the samples of {dataset} are {got}, benchmark {benchmark} takes {wanted} (without N): {fix}")]
    Unfit {
        /// The dataset.
        dataset: String,
        /// What its first sample is.
        got: String,
        /// Whose.
        benchmark: &'static str,
        /// Its inputs.
        wanted: String,
        /// What can be done.
        fix: &'static str,
    },
    /// Samples that are no files of their own.
    #[error(
        "--compression original: the samples of {0} are not files with a compression of their own (a folder of JPEGs is)"
    )]
    NoOriginal(String),
    /// Accuracy was asked for, and nobody knows what is right.
    #[error("sample {index} of {dataset} has no label for {metric}: accuracy needs one for every sample")]
    Label {
        /// The dataset.
        dataset: String,
        /// The first without.
        index: usize,
        /// By what it would be scored.
        metric: &'static str,
    },
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
    /// A text that starts with `synthetic:` and goes on otherwise than it should.
    #[error(
        "'{text}': {reason}; it is synthetic:DTYPE[DIMS]xCOUNT (for example synthetic:u8[150528]x64; with the statistics of \
         images or texts: synthetic:image-u8[224,224,3]x256, synthetic:tokens-i64[384]x1024; several tensors: \
         synthetic:f32[8]+ones-i64[4]x64)"
    )]
    Synthetic {
        /// The text.
        text: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A sample that cannot be read, decoded or laid out.
    #[error("sample {index} of {dataset}: {source}")]
    Sample {
        /// The dataset.
        dataset: String,
        /// Which sample.
        index: usize,
        /// Why not.
        source: ReadError,
    },
    /// A sample that the codec does not take.
    #[error("sample {index} of {dataset}: {source}")]
    Codec {
        /// The dataset.
        dataset: String,
        /// Which sample.
        index: usize,
        /// Why not.
        source: EncodeError,
    },
    /// What the codec made of a sample cannot be undone.
    #[error("sample {index} of {dataset}: {source}")]
    Inflate {
        /// The dataset.
        dataset: String,
        /// Which sample.
        index: usize,
        /// Why not.
        source: InflateError,
    },
    /// A sample that cannot be made into a request to a server.
    #[error("sample {index} of {dataset}: {source}")]
    Request {
        /// The dataset.
        dataset: String,
        /// Which sample.
        index: usize,
        /// Why not.
        source: RequestError,
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

/// Returns the error for a file with the wrong content; `reason` says what is wrong with it.
pub(crate) fn content(file: &Path, reason: impl Into<String>) -> DatasetError {
    DatasetError::Content { file: file.to_owned(), reason: reason.into() }
}

/// Returns a function that names `file` in an error of the operating system.
pub(crate) fn unreadable(file: &Path) -> impl Fn(io::Error) -> DatasetError {
    move |source| SumError::Read { file: file.to_owned(), source }.into()
}

/// Why a model and a dataset do not go together.
#[derive(Debug, thiserror::Error)]
pub enum FitError {
    /// The signatures differ.
    #[error(transparent)]
    Mismatch(#[from] Mismatch),
    /// The same inputs in another order.
    #[error("a sample has {samples} in this order, the model takes {model}: start the node with --inputs {order}")]
    Order {
        /// Names of the sample's tensors.
        samples: String,
        /// What the model takes.
        model: String,
        /// The model's names in the samples' order.
        order: String,
    },
    /// The first sample cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}
