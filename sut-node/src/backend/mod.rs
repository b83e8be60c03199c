//! What answers the samples: two contracts, four backends, and their construction from the text of `--backend`.
//!
//! - [`null`]: answers at once, to measure everything but inference;
//! - [`synthetic`]: takes as long as it is told, to measure queueing, batching and token streams without a model;
//! - [`onnx`]: runs a model, with ONNX Runtime when its library is there, else with the embedded tract;
//! - [`openai`]: asks a server that streams chat completions.
//!
//! A backend knows nothing of the network: bytes and [`crate::tensor`] in, bytes out.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use crate::pipeline::post::Postprocess;
use crate::tensor::{Mismatch, Signature, Tensor};

mod duration;
pub mod null;
#[cfg(feature = "onnx")]
pub mod onnx;
pub mod openai;
mod provider;
pub mod stream;
pub mod synthetic;

pub use duration::{DurationError, parse_duration};
pub use provider::{Provider, UnknownProvider};
pub use stream::Streamer;

/// One model, or what stands in for one, shared by all workers of a node.
///
/// Split from [`Worker`] so that the state an inference needs (buffers, plans, sessions) belongs to one thread and
/// needs no lock, while weights and descriptions are shared.
pub trait Backend: Send + Sync + 'static {
    /// Who answers: for `Describe`, the logs and the results.
    fn info(&self) -> &BackendInfo;

    /// Where [`Worker::infer`] may be called.
    fn execution(&self) -> Execution;

    /// What [`Worker::infer`] looks at.
    fn input(&self) -> Input;

    /// Cores that one inference keeps busy; 0 when it only waits.
    fn cores_per_inference(&self) -> usize {
        1
    }

    /// Samples that one [`Streamer`] of this backend holds at one time; `None` for a backend that answers batches.
    fn slots(&self) -> Option<NonZeroUsize> {
        None
    }

    /// What a free size of its samples may be where nobody says it; `None`: there is no usual one.
    fn usual_size(&self) -> Option<u32> {
        None
    }

    /// The state of one worker thread, warm: the batch sizes it will be asked for have been run on zeros, so that the
    /// first sample of a run is not the one that pays for planning and first touches. May take seconds.
    ///
    /// # Errors
    /// The backend cannot run here; see [`BackendError`].
    fn worker(&self) -> Result<Half, BackendError>;
}

/// One thread's half of a [`Backend`]: always of the same kind for one backend, and a stream's only where
/// [`Backend::execution`] is [`Execution::Workers`] and [`Backend::slots`] says so.
pub enum Half {
    /// Takes batches and gives them back whole.
    Batch(Box<dyn Worker>),
    /// Holds several samples and answers each token by token.
    Stream(Box<dyn Streamer>),
}

impl Half {
    /// The half of a backend that answers batches.
    pub fn batch(self) -> Option<Box<dyn Worker>> {
        match self {
            Half::Batch(worker) => Some(worker),
            Half::Stream(_) => None,
        }
    }

    /// The half of a backend that streams.
    pub fn stream(self) -> Option<Box<dyn Streamer>> {
        match self {
            Half::Stream(streamer) => Some(streamer),
            Half::Batch(_) => None,
        }
    }
}

/// One thread's half of a [`Backend`].
pub trait Worker: Send {
    /// One answer per sample, in order: the raw little-endian bytes of that sample's outputs, concatenated in the
    /// order of the signature. A sample that does not fit fails alone; the rest of the batch is answered.
    ///
    /// `batch` has 1 to [`BackendOptions::max_batch`] samples. (More still work, only not warmed up.)
    fn infer(&mut self, batch: &[Sample]) -> Vec<Result<Bytes, InferError>>;

    /// What there is to say of the last [`Worker::infer`] besides its answers.
    fn aside(&self) -> &Aside {
        static NOTHING: Aside = Aside { postprocess: Duration::ZERO, nan: Vec::new() };
        &NOTHING
    }
}

/// What a worker says of a batch besides its answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Aside {
    /// How much of the time was no inference, but spent on what came out.
    pub postprocess: Duration,
    /// The samples, by their place in the batch, whose outputs hold a NaN. They are answered all the same.
    pub nan: Vec<usize>,
}

/// Where inference may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Execution {
    /// On the thread that read the sample: it costs less than handing it over.
    Inline,
    /// On worker threads: it takes time or blocks.
    Workers,
}

/// What of a sample a backend looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// Nothing: the payload need not be decoded, and need not be decodable.
    Opaque,
    /// The tensors.
    Tensors,
}

/// One sample as a backend sees it.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    /// The payload as it came.
    pub bytes: Bytes,
    /// Its tensors; empty for a backend with [`Input::Opaque`].
    pub tensors: Vec<Tensor>,
}

/// Who answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackendInfo {
    /// What runs the model, with its version: `onnxruntime 1.31.1`, `tract 0.23.9`, `null`, `synthetic:constant=2ms`.
    pub engine: String,
    /// The model's file name; empty when there is none.
    pub model: String,
    /// Of the model file, in hexadecimal.
    pub model_sha256: Option<String>,
    /// What a sample must hold; empty: anything.
    pub inputs: Signature,
    /// What an answer holds; empty: not tensors of a model.
    pub outputs: Signature,
}

/// How a backend is to run.
#[derive(Clone, Debug, PartialEq)]
pub struct BackendOptions {
    /// Threads inside one inference. ONNX Runtime heeds it; tract always runs an inference on the worker's own thread
    /// (more workers use more cores) and a warning says so.
    pub threads: NonZeroUsize,
    /// Samples in one inference at most; batches up to this size are warmed up.
    pub max_batch: NonZeroUsize,
    /// What runs ONNX models.
    pub engine: OnnxEngine,
    /// How a server of `openai:URL` is asked.
    pub openai: openai::OpenAiOptions,
    /// What ONNX Runtime computes on; its CPU provider unless given.
    pub provider: Option<Provider>,
    /// What is made of a model's outputs.
    pub postprocess: Postprocess,
    /// The model's inputs by name, in the order in which samples have them; empty: in the model's own order.
    pub inputs: Vec<String>,
    /// How answers are streamed, by backends that stream.
    pub tokens: TokenOptions,
}

/// How answers are streamed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenOptions {
    /// Samples that a worker answers at one time.
    pub slots: NonZeroUsize,
    /// Tokens of an answer at most; a sample may ask for fewer.
    pub max_tokens: NonZeroUsize,
    /// The token that ends an answer, itself among its tokens; none: every answer has all tokens that it may.
    pub eos: Option<i64>,
    /// Tokens of a sample and its answer together at most, which bounds the memory that a slot needs.
    pub max_context: NonZeroUsize,
}

impl Default for BackendOptions {
    fn default() -> BackendOptions {
        let (threads, max_batch) = (NonZeroUsize::MIN, NonZeroUsize::MIN);
        BackendOptions {
            threads,
            max_batch,
            engine: OnnxEngine::Auto,
            provider: None,
            postprocess: Postprocess::None,
            inputs: Vec::new(),
            openai: openai::OpenAiOptions::default(),
            tokens: TokenOptions::default(),
        }
    }
}

impl Default for TokenOptions {
    fn default() -> TokenOptions {
        let number = |n: usize| NonZeroUsize::MIN.saturating_add(n - 1);
        TokenOptions { slots: number(8), max_tokens: number(128), eos: None, max_context: number(2048) }
    }
}

/// What runs ONNX models.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnnxEngine {
    /// ONNX Runtime when `ORT_DYLIB_PATH` names its library or the library lies beside the running binary; else tract.
    #[default]
    Auto,
    /// ONNX Runtime, or an error.
    OnnxRuntime,
    /// The embedded tract, whatever else is there.
    Tract,
}

/// Why a backend could not be brought up: configuration or a model, found before any sample.
#[derive(Debug, thiserror::Error)]
pub enum BackendError {
    /// The text of `--backend` names no backend.
    #[error(
        "'{0}' is not a backend: give onnx:MODEL.onnx, openai:http://HOST:PORT/MODEL, null, or synthetic:SPEC (for \
         example synthetic:constant=2ms)"
    )]
    Unknown(String),
    /// `onnx:` in a build without it.
    #[error("this sut-node was built without ONNX support; build it with the feature 'onnx'")]
    NoOnnx,
    /// The SPEC of `synthetic:SPEC`.
    #[error(transparent)]
    Spec(#[from] synthetic::SpecError),
    /// A backend that streams was to run where samples are read.
    #[error("{0} answers token by token, which needs worker threads")]
    NotInline(String),
    /// The model or what runs it.
    #[cfg(feature = "onnx")]
    #[error(transparent)]
    Onnx(#[from] onnx::OnnxError),
    /// The server of `openai:URL`.
    #[error(transparent)]
    OpenAi(#[from] openai::OpenAiError),
}

/// Why one sample has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InferError {
    /// The sample's tensors are not what the model takes.
    #[error(transparent)]
    Mismatch(#[from] Mismatch),
    /// The sample is not a prompt.
    #[error(transparent)]
    Prompt(#[from] openai::PromptError),
    /// The server behind the node gave no answer.
    #[error(transparent)]
    Server(#[from] openai::Failure),
    /// The engine failed on the batch this sample was in.
    #[error("{engine} failed on a batch of {batch}: {reason}")]
    Engine {
        /// What runs the model.
        engine: String,
        /// Samples in the batch.
        batch: usize,
        /// In the engine's words.
        reason: String,
    },
    /// This sample alone cannot be answered, or its answer broke off.
    #[error("{engine}: {reason}")]
    Failed {
        /// What should have answered it.
        engine: String,
        /// In its words.
        reason: String,
    },
}

/// The backend that `text` names: `null`, `synthetic:SPEC` or `onnx:PATH`.
///
/// # Errors
/// See [`BackendError`]; each says what to give instead.
pub fn open(text: &str, options: &BackendOptions) -> Result<Arc<dyn Backend>, BackendError> {
    let (kind, rest) = text.split_once(':').map_or((text, None), |(kind, rest)| (kind, Some(rest)));
    match (kind, rest) {
        ("null", None) => Ok(Arc::new(null::Null::new())),
        ("synthetic", Some(spec)) => Ok(Arc::new(synthetic::Synthetic::new(&spec.parse()?, &options.tokens))),
        ("onnx", Some(path)) if !path.is_empty() => open_onnx(path, options),
        ("openai", Some(url)) if !url.is_empty() => Ok(Arc::new(openai::OpenAi::open(url, options)?)),
        _ => Err(BackendError::Unknown(text.to_owned())),
    }
}

#[cfg(feature = "onnx")]
fn open_onnx(path: &str, options: &BackendOptions) -> Result<Arc<dyn Backend>, BackendError> {
    Ok(Arc::new(onnx::Onnx::open(path.as_ref(), options)?))
}

#[cfg(not(feature = "onnx"))]
fn open_onnx(_path: &str, _options: &BackendOptions) -> Result<Arc<dyn Backend>, BackendError> {
    Err(BackendError::NoOnnx)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_the_flag_becomes_a_backend() {
        let engine = |text: &str| open(text, &BackendOptions::default()).map(|b| b.info().engine.clone());
        assert_eq!(engine("null").unwrap(), "null");
        assert_eq!(engine("synthetic:constant=2ms").unwrap(), "synthetic:constant=2ms");
        for bad in ["", "nul", "null:", "null:x", "synthetic", "onnx", "onnx:", "openai", "openai:", "tensorrt:x"] {
            let error = engine(bad).unwrap_err().to_string();
            assert!(error.contains(&format!("'{bad}'")) && error.contains("onnx:MODEL.onnx"), "{error}");
        }
        let error = engine("onnx:/no/such/model.onnx").unwrap_err().to_string();
        let part = if cfg!(feature = "onnx") { "/no/such/model.onnx" } else { "built without ONNX support" };
        assert!(error.contains(part), "{error}");
    }
}
