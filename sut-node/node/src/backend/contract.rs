//! Contract of a backend, and of its half that answers batches. For one that answers token by token see
//! [`super::stream`].

use std::num::NonZeroUsize;
use std::time::Duration;

use super::error::{BackendError, InferError};
use super::sample::BackendSample;
use super::stream::Streamer;
use crate::node_setting::Setting;
use crate::tensor::{DType, Signature, TensorSpec};
use bytes::Bytes;

/// One model, or what stands in for one, shared by all workers of a node.
///
/// Split from [`Worker`] so that the state an inference needs (buffers, plans, sessions) belongs to one thread and
/// needs no lock, while weights and descriptions are shared.
pub trait Backend: Send + Sync + 'static {
    /// Returns the description of the engine and its model, for `Describe`, the logs and the results.
    fn info(&self) -> &BackendInfo;

    /// Where [`Worker::infer`] may be called: on worker threads, unless written here.
    fn execution(&self) -> Execution {
        Execution::Workers
    }

    /// Returns the part of a sample that [`Worker::infer`] looks at: its tensors, unless written here.
    fn input(&self) -> Input {
        Input::Tensors
    }

    /// Returns the number of cores that one inference keeps busy; 0 when it only waits.
    fn cores_per_inference(&self) -> usize {
        1
    }

    /// Returns the number of samples that one [`Streamer`] of this backend holds at one time; `None` for a backend that
    /// answers batches.
    fn slots(&self) -> Option<NonZeroUsize> {
        None
    }

    /// The most samples that share a run; `None`: as many as there may be. More in one batch only wait for each other.
    fn samples_of_a_run(&self) -> Option<NonZeroUsize> {
        None
    }

    /// Returns true when the workers only pretend to work, for simulations. They take the time that
    /// [`Worker::pretended`] says, and need no threads: they are tasks on the first I/O thread. Only for batches where
    /// [`Backend::execution`] is [`Execution::Workers`].
    fn pretends(&self) -> bool {
        false
    }

    /// A usual value for a size that its samples leave free; `None` when there is none.
    fn usual_size(&self) -> Option<u32> {
        None
    }

    /// The state of one worker thread, warm. It has run the batch sizes that it will be asked for on zeros, so that the
    /// first sample of a run does not pay for planning and first touches. May take seconds.
    ///
    /// # Errors
    /// The backend cannot run here; see [`BackendError`].
    fn worker(&self) -> Result<Half, BackendError>;
}

/// One thread's half of a [`Backend`]. All halves of one backend are of the same kind. It is [`Half::Stream`] only
/// where [`Backend::execution`] is [`Execution::Workers`] and [`Backend::slots`] is not `None`.
pub enum Half {
    /// Takes batches and gives them back whole.
    Batch(Box<dyn Worker>),
    /// Holds several samples and answers each token by token.
    Stream(Box<dyn Streamer>),
}

impl Half {
    /// The worker, if the backend answers batches.
    pub fn batch(self) -> Option<Box<dyn Worker>> {
        match self {
            Half::Batch(worker) => Some(worker),
            Half::Stream(_) => None,
        }
    }

    /// The streamer, if the backend answers token by token.
    pub fn stream(self) -> Option<Box<dyn Streamer>> {
        match self {
            Half::Stream(streamer) => Some(streamer),
            Half::Batch(_) => None,
        }
    }
}

/// One thread's half of a [`Backend`] that answers batches.
pub trait Worker: Send {
    /// One answer per sample, in order: the raw little-endian bytes of that sample's outputs, concatenated in the
    /// order of the signature. A sample that does not fit fails alone; the rest of the batch is answered.
    ///
    /// `batch` has 1 to [`BackendOptions::max_batch`](super::BackendOptions::max_batch) samples. More work as well, but
    /// no such batch was warmed up.
    fn infer(&mut self, batch: &[BackendSample]) -> Vec<Result<Bytes, InferError>>;

    /// Returns the time that the last [`Worker::infer`] would have taken, where the backend only
    /// [pretends](Backend::pretends).
    fn pretended(&self) -> Duration {
        Duration::ZERO
    }

    /// Returns the findings of the last [`Worker::infer`] besides its answers.
    fn aside(&self) -> &Aside {
        static NOTHING: Aside = Aside { postprocess: Duration::ZERO, nan: Vec::new() };
        &NOTHING
    }
}

/// Findings of a worker about a batch besides its answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Aside {
    /// The part of the time that was spent on post-processing, not on inference.
    pub postprocess: Duration,
    /// The samples whose outputs hold a NaN, by their place in the batch. They are answered all the same.
    pub nan: Vec<usize>,
}

/// The threads on which inference may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Execution {
    /// On the thread that read the sample: inference costs less than handing the sample over.
    Inline,
    /// On worker threads: inference takes time or blocks.
    Workers,
}

/// Part of a sample that a backend looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// Nothing. The payload need not be decoded, and need not be decodable.
    Opaque,
    /// Its tensors, decoded before.
    Tensors,
}

/// Description of a backend: the engine, its model, and its inputs and outputs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackendInfo {
    /// Software that runs the model, with its version: `onnxruntime 1.31.1`, `tract 0.23.9`, `null`,
    /// `synthetic:constant=2ms`.
    pub engine: String,
    /// The model's file name; empty when there is none.
    pub model: String,
    /// SHA-256 of the model file and of the files that have its weights, in hexadecimal; `None` when there is no file.
    pub model_sha256: Option<String>,
    /// Bytes of these files; `None` when there is none.
    pub model_bytes: Option<u64>,
    /// The options of the backend that matter to it, with their values.
    pub settings: Vec<Setting>,
    /// Tensors that a sample must hold. Empty: anything.
    pub inputs: Signature,
    /// Tensors of an answer. Empty: they are not known, and answers cannot be checked against them.
    pub outputs: Signature,
}

impl BackendInfo {
    /// The info of a backend that runs no model and takes any sample. Its answers are one tensor of this name and type,
    /// with these dimensions behind the batch.
    pub(super) fn without_model(engine: String, name: &str, dtype: DType, dims: &[Option<u32>]) -> BackendInfo {
        let answer = TensorSpec::new(name, dtype, [&[None], dims].concat());
        let (inputs, outputs) = (Signature::default(), Signature::new(vec![answer]));
        BackendInfo {
            engine,
            model: String::new(),
            model_sha256: None,
            model_bytes: None,
            settings: Vec::new(),
            inputs,
            outputs,
        }
    }
}
