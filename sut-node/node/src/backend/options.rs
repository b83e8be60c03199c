//! Options of a backend: the flags of `sut-node`, as values.

use std::fmt;
use std::num::NonZeroUsize;
use std::str::FromStr;

use super::onnx_provider::Provider;
use super::openai::options::OpenAiOptions;
use crate::memory::Memory;
use crate::node_setting::Setting;
use crate::pipeline::post::Postprocess;

/// Options of a backend.
#[derive(Clone, Debug, PartialEq)]
pub struct BackendOptions {
    /// Threads inside one inference. ONNX Runtime heeds it; tract always runs an inference on the worker's own thread
    /// (more workers use more cores) and a warning says so.
    pub threads: NonZeroUsize,
    /// The most samples in one inference. Batches up to this size are warmed up.
    pub max_batch: NonZeroUsize,
    /// Number of workers that there will be. Several share what they can.
    pub workers: NonZeroUsize,
    /// The engine that runs ONNX models.
    pub engine: OnnxEngine,
    /// Options for requests to the server of `openai:URL`.
    pub openai: OpenAiOptions,
    /// Execution provider of ONNX Runtime. `None`: its CPU provider.
    pub provider: Option<Provider>,
    /// Post-processing of the outputs of an ONNX model.
    pub postprocess: Postprocess,
    /// The model's inputs by name, in the order in which samples have them. Empty: in the model's own order.
    pub inputs: Vec<String>,
    /// The model's outputs that an answer has, by name, in the order in which it has them. Empty: all, in the order of
    /// the model.
    pub outputs: Vec<String>,
    /// An answer of an ONNX model may be empty: nothing was found.
    pub allows_empty: bool,
    /// Which dimension of an ONNX model counts samples, where the user says so. `None`: that is found out.
    pub batch_dim: Option<BatchDim>,
    /// Sizes that an ONNX model leaves free, and that are given.
    pub dims: Vec<DimSize>,
    /// The most bytes of memory that one run of a model with free sizes may take: a sample that needs more fails.
    pub max_run_bytes: u64,
    /// Options of streamed answers, for backends that answer token by token.
    pub tokens: TokenOptions,
}

/// Options of a backend that answers token by token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenOptions {
    /// Number of samples that a worker answers at one time.
    pub slots: NonZeroUsize,
    /// The most tokens of an answer. A sample may ask for fewer.
    pub max_tokens: NonZeroUsize,
    /// The least tokens of an answer: before it has as many, the next one is not the token that ends it.
    pub min_tokens: usize,
    /// The width of the beam search. 1: of all next tokens the likeliest one is taken.
    pub beams: NonZeroUsize,
    /// The token that ends an answer, and is the last of its tokens. `None`: every answer has as many tokens as it may.
    pub eos: Option<i64>,
    /// The most tokens of a sample and its answer together, which bounds the memory that a slot needs.
    pub max_context: NonZeroUsize,
}

impl Default for BackendOptions {
    fn default() -> BackendOptions {
        let (threads, max_batch) = (NonZeroUsize::MIN, NonZeroUsize::MIN);
        BackendOptions {
            threads,
            max_batch,
            workers: NonZeroUsize::MIN,
            engine: OnnxEngine::Auto,
            provider: None,
            postprocess: Postprocess::None,
            inputs: Vec::new(),
            outputs: Vec::new(),
            allows_empty: false,
            batch_dim: None,
            dims: Vec::new(),
            openai: OpenAiOptions::default(),
            max_run_bytes: Memory::of_host().inference_bytes(NonZeroUsize::MIN),
            tokens: TokenOptions::default(),
        }
    }
}

impl Default for TokenOptions {
    fn default() -> TokenOptions {
        let number = |n: usize| NonZeroUsize::MIN.saturating_add(n - 1);
        TokenOptions {
            slots: number(8),
            max_tokens: number(128),
            min_tokens: 0,
            beams: number(1),
            eos: None,
            max_context: number(2048),
        }
    }
}

impl TokenOptions {
    /// Returns the number of beginnings of answers that go on at one time.
    pub fn lanes(&self) -> usize {
        self.slots.get().saturating_mul(self.beams.get())
    }

    /// The options as a node tells them.
    pub fn settings(&self) -> Vec<Setting> {
        let TokenOptions { slots, max_tokens, min_tokens, beams, eos, max_context } = self;
        vec![
            Setting::of_speed("slots", slots),
            Setting::of_answers("max_tokens", max_tokens),
            Setting::of_answers("min_tokens", min_tokens),
            Setting::of_answers("beams", beams),
            Setting::of_answers("eos", eos.map_or_else(|| "none".to_owned(), |eos| eos.to_string())),
            Setting::of_answers("max_context", max_context),
        ]
    }
}

/// The dimension of a model's tensors that counts samples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BatchDim {
    /// The leading one of each.
    Leading,
    /// The leading one of each, which has this name wherever it has one.
    Named(String),
    /// No dimension: samples run one by one.
    None,
}

/// The error for a text that names no [`BatchDim`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not the batch: give 0 (samples are along the leading dimension), that dimension's name, or none")]
pub struct UnknownBatchDim(String);

impl FromStr for BatchDim {
    type Err = UnknownBatchDim;

    fn from_str(text: &str) -> Result<BatchDim, UnknownBatchDim> {
        match text {
            "0" => Ok(BatchDim::Leading),
            "none" => Ok(BatchDim::None),
            other if other.is_empty() || other.parse::<i64>().is_ok() => Err(UnknownBatchDim(other.to_owned())),
            name => Ok(BatchDim::Named(name.to_owned())),
        }
    }
}

impl fmt::Display for BatchDim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            BatchDim::Leading => "0",
            BatchDim::Named(name) => name,
            BatchDim::None => "none",
        })
    }
}

/// A size that a model leaves free, and the user gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DimSize {
    /// The name of the dimension in the model, or `TENSOR:AXIS`.
    pub name: String,
    /// The size that it has in every sample.
    pub size: u32,
}

impl DimSize {
    /// Returns true when this is the dimension `axis` of the tensor of this name.
    pub fn is(&self, tensor: &str, axis: usize, symbol: Option<&str>) -> bool {
        symbol == Some(&self.name) || self.name == format!("{tensor}:{axis}")
    }
}

/// The error for a text that is no [`DimSize`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' gives no size: give NAME=SIZE, or TENSOR:AXIS=SIZE for a dimension without a name")]
pub struct UnknownDim(String);

impl FromStr for DimSize {
    type Err = UnknownDim;

    fn from_str(text: &str) -> Result<DimSize, UnknownDim> {
        let unknown = || UnknownDim(text.to_owned());
        let (name, size) = text.rsplit_once('=').ok_or_else(unknown)?;
        let size = size.parse().ok().filter(|size| *size > 0).ok_or_else(unknown)?;
        if name.is_empty() { Err(unknown()) } else { Ok(DimSize { name: name.to_owned(), size }) }
    }
}

impl fmt::Display for DimSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.name, self.size)
    }
}

/// The engine that runs ONNX models.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnnxEngine {
    /// ONNX Runtime when `ORT_DYLIB_PATH` names its library or the library lies beside the running binary; else tract.
    #[default]
    Auto,
    /// ONNX Runtime, or an error when its library is not there.
    OnnxRuntime,
    /// The embedded tract, also when ONNX Runtime's library is there.
    Tract,
}
