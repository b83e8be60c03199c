//! Why an ONNX model cannot be used.

use std::path::PathBuf;

use lon_sut::backend::BackendError;
use lon_sut::pipeline::post::PostprocessError;

/// Why a model cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum OnnxError {
    /// The inputs that `--inputs` names are not the model's.
    #[error("--inputs does not fit {model}: {reason} (its inputs are {inputs})")]
    Inputs {
        /// The name of the model.
        model: String,
        /// The inputs that the model has.
        inputs: String,
        /// Which name is wrong.
        reason: String,
    },
    /// `--batch-dim` names what does not count samples.
    #[error("--batch-dim {batch_dim} does not fit {model}: {reason}")]
    BatchDim {
        /// The name of the model.
        model: String,
        /// Value of the flag.
        batch_dim: String,
        /// Why that is not so.
        reason: String,
    },
    /// A flag was given for a decoder, whose inputs and outputs are not the tensors of samples and answers.
    #[error("{0} is not for a model that answers token by token")]
    OfTokens(&'static str),
    /// Beams were asked for, and the model answers with one run.
    #[error("--beams is for a model that answers token by token, which {0} is not: it has no cache")]
    BeamsWithoutTokens(String),
    /// The outputs of the model do not allow the post-processing.
    #[error(transparent)]
    Postprocess(#[from] PostprocessError),
    /// The model, or the list of sums beside it, cannot be read.
    #[error("cannot read {path}: {cause}")]
    Read {
        /// The file, by its path.
        path: PathBuf,
        /// The operating system's answer.
        cause: std::io::Error,
    },
    /// The model is not the one its list of sums speaks of.
    #[error(
        "{path} is not the file that {list} lists: its SHA-256 is {actual}, listed is {expected}; fetch or build the \
         model again, or correct the list"
    )]
    Sum {
        /// The name of the model.
        path: PathBuf,
        /// The path of the list.
        list: PathBuf,
        /// The SHA-256 that the list has.
        expected: String,
        /// The SHA-256 of the file.
        actual: String,
    },
    /// The file is no model, or one that cannot be served.
    #[error("{place} (SHA-256 {sha256:.12}...) cannot be used as a model: {reason}")]
    Model {
        /// The path of the model, or its name when it is not a file.
        place: String,
        /// The SHA-256 of the model file.
        sha256: String,
        /// Fault of the model, and its remedy.
        reason: String,
    },
    /// The engine refuses the model, or does not answer as the file says.
    #[error("{engine} cannot run {model} (SHA-256 {sha256:.12}...) with a batch of {batch}: {reason}")]
    CannotRun {
        /// The engine that should have run it.
        engine: String,
        /// The name of the model.
        model: String,
        /// The SHA-256 of the model file.
        sha256: String,
        /// Number of samples in the batch.
        batch: usize,
        /// The reason, in the engine's words, and advice on a further attempt.
        reason: String,
    },
    /// ONNX Runtime's library is there but cannot be used.
    #[error(
        "ONNX Runtime's library {path} ({origin}) cannot be used: {reason}; point ORT_DYLIB_PATH at a \
         libonnxruntime.so of version 1.22 or later, or take it away to use the embedded engine"
    )]
    Library {
        /// The file, by its path.
        path: PathBuf,
        /// Way in which the library was found.
        origin: &'static str,
        /// Fault of the library.
        reason: String,
    },
    /// ONNX Runtime's library does not have the execution provider that was asked for.
    #[error("ONNX Runtime's library {path} will not do: {reason}")]
    Provider {
        /// The file, by its path.
        path: PathBuf,
        /// The provider that it does not have, and those that it has.
        reason: String,
    },
    /// An execution provider was asked for, and the embedded engine would run the model.
    #[error(
        "execution providers (--ep) are ONNX Runtime's, and the embedded tract would run this model: set \
         ORT_DYLIB_PATH to the path of libonnxruntime.so, or leave --ep out"
    )]
    ProviderOfTract,
    /// ONNX Runtime was asked for and is not there.
    #[error(
        "ONNX Runtime's library was not found: set ORT_DYLIB_PATH to the path of libonnxruntime.so, or put it beside \
         the program"
    )]
    NoLibrary,
}

impl From<OnnxError> for BackendError {
    fn from(error: OnnxError) -> BackendError {
        BackendError::Added(Box::new(error))
    }
}
