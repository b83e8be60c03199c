//! The errors of datasets: one cannot be opened or loaded, or does not fit a model.

use std::io;
use std::path::{Path, PathBuf};

use lon_proto::codec::{EncodeError, InflateError};
use lon_proto::sample::Mismatch;

use super::reader::ReadError;
use crate::encode::kserve::RequestError;
use crate::files::sums::SumError;

/// The reasons why a dataset cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DatasetError {
    /// The benchmark has no dataset of its own.
    #[error("benchmark {0} needs a dataset: give for example --dataset {1}")]
    Needed(&'static str, String),
    /// The path is not a known form of dataset, or the benchmark does not take this form.
    #[error("{path}: {reason}")]
    Form {
        /// The path that was given.
        path: PathBuf,
        /// A clause that says why not, and what is accepted.
        reason: String,
    },
    /// The samples do not have the inputs of the benchmark.
    #[error("the samples of {dataset} are {shapes}, benchmark {benchmark} takes {inputs} (without N): {fix}")]
    Unfit {
        /// The name of the dataset.
        dataset: String,
        /// The types and shapes of the first sample's tensors.
        shapes: String,
        /// The name of the benchmark.
        benchmark: &'static str,
        /// The inputs of the benchmark.
        inputs: String,
        /// A clause that says what can be done.
        fix: String,
    },
    /// The samples are not files with a compression of their own. The text is the name of the dataset.
    #[error(
        "--compression original: the samples of {0} are not files with a compression of their own (a folder of JPEGs \
         is)"
    )]
    NoOriginal(String),
    /// A sample has no label for the metric, so that accuracy cannot be scored.
    #[error("sample {index} of {dataset} has no label for {asks}: accuracy needs one for every sample{labels}")]
    Label {
        /// The name of the dataset.
        dataset: String,
        /// The index of the first sample without a label.
        index: usize,
        /// The name of the metric, and the parts of the dataset that it is for, where it is for some alone.
        asks: String,
        /// A clause with the numbers of labels and samples where labels end before the samples; else empty.
        labels: String,
    },
    /// The labels do not tell items apart, so that `auc` has nothing to compare.
    #[error("all labels of {0} are equal: auc needs items of both classes, 0 and 1")]
    OneClass(String),
    /// A file cannot be read, or does not have its sum.
    #[error(transparent)]
    Sum(#[from] SumError),
    /// A file has the wrong content.
    #[error("{file}: {reason}")]
    Content {
        /// The path of the file.
        file: PathBuf,
        /// A clause that says what is wrong with it.
        reason: String,
    },
    /// A text starts with `synthetic:` and does not describe synthetic samples.
    #[error(
        "'{text}': {reason}; it is synthetic:DTYPE[DIMS]xCOUNT (for example synthetic:u8[150528]x64; with the \
         statistics of images or texts: synthetic:image-u8[224,224,3]x256, synthetic:tokens-i64[384]x1024; several \
         tensors: synthetic:f32[8]+ones-i64[4]x64)"
    )]
    Synthetic {
        /// The text that was given.
        text: String,
        /// A clause that says what is wrong with it.
        reason: String,
    },
    /// A sample cannot be read or decoded.
    #[error("sample {index} of {dataset}: {source}")]
    Sample {
        /// The name of the dataset.
        dataset: String,
        /// The index of the sample.
        index: usize,
        /// The error of the reader.
        source: ReadError,
    },
    /// The codec does not take a sample.
    #[error("sample {index} of {dataset}: {source}")]
    Codec {
        /// The name of the dataset.
        dataset: String,
        /// The index of the sample.
        index: usize,
        /// The error of the codec.
        source: EncodeError,
    },
    /// An encoded sample cannot be decoded again.
    #[error("sample {index} of {dataset}: {source}")]
    Inflate {
        /// The name of the dataset.
        dataset: String,
        /// The index of the sample.
        index: usize,
        /// The error of the codec.
        source: InflateError,
    },
    /// A sample cannot be made into a request to a KServe server.
    #[error("sample {index} of {dataset}: {source}")]
    Request {
        /// The name of the dataset.
        dataset: String,
        /// The index of the sample.
        index: usize,
        /// The reason why not.
        source: RequestError,
    },
    /// An index is beyond the last sample.
    #[error("{dataset} has {count} samples, there is no sample {index}")]
    NoSample {
        /// The name of the dataset.
        dataset: String,
        /// The index that was given.
        index: usize,
        /// The number of samples.
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

/// The reasons why a model does not take the samples of a dataset.
#[derive(Debug, thiserror::Error)]
pub enum FitError {
    /// Types or shapes differ.
    #[error(transparent)]
    Mismatch(#[from] Mismatch),
    /// The model has the same inputs in another order.
    #[error("a sample has {samples} in this order, the model takes {model}: start the node with --inputs {order}")]
    Order {
        /// The names of the sample's tensors.
        samples: String,
        /// The signature of the model.
        model: String,
        /// The model's names in the order of the sample's tensors.
        order: String,
    },
    /// The first sample cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}
