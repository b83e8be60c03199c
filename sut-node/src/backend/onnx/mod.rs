//! Runs an ONNX model: ONNX Runtime when its library is there, else the embedded tract.
//!
//! ```text
//! model   ── file or bytes -> checked sum, signature, what batches it allows
//! library ── where ONNX Runtime's library is, and which version
//! engine  ── what both engines are to the rest: tensors of a batch in, tensors of a batch out
//! ort, tract
//! batch   ── samples -> one batch -> answers (the Worker)
//! decoder ── samples -> tokens, with a cache (the Streamer), for models that have one
//! ```
//!
//! The signature is read from the model file itself, so it is the same whatever runs the model, and known before
//! anything has run.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;

use self::batch::OnnxWorker;
use self::decoder::{Decoder, Layout};
use self::engine::Engine;
use self::model::{InputOrder, Model};
use super::{Backend, BackendError, BackendInfo, BackendOptions, Execution, Half, Input, OnnxEngine, TokenOptions};
use crate::pipeline::post::{Postprocess, PostprocessError};
use crate::tensor::{DType, Signature, TensorSpec};

mod batch;
mod decoder;
mod engine;
mod ep;
mod library;
mod model;
mod ort;
mod tract;

/// An ONNX model and what runs it.
pub struct Onnx {
    info: BackendInfo,
    model: Model,
    engine: Box<dyn Engine>,
    order: InputOrder,
    postprocess: Postprocess,
    /// Of a model that decodes token by token.
    decoder: Option<(Arc<Layout>, TokenOptions)>,
}

impl Onnx {
    /// The model in the file at `path`, which is read once. When a `SHA256SUMS` beside it lists it, the sum must match.
    ///
    /// # Errors
    /// See [`OnnxError`].
    pub fn open(path: &Path, options: &BackendOptions) -> Result<Onnx, OnnxError> {
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
        Onnx::load(&name, &path.display().to_string(), model::read(path)?, options)
    }

    /// A model that is in memory already, for example built into the program; `name` is shown as its file name. Its
    /// sum is in [`BackendInfo::model_sha256`]; whoever knows what it should be has checked it.
    ///
    /// # Errors
    /// See [`OnnxError`].
    pub fn from_bytes(name: &str, bytes: impl Into<Bytes>, options: &BackendOptions) -> Result<Onnx, OnnxError> {
        Onnx::load(name, name, bytes.into(), options)
    }

    fn load(name: &str, place: &str, bytes: Bytes, options: &BackendOptions) -> Result<Onnx, OnnxError> {
        let sha256 = model::sha256(&bytes);
        let unusable = |reason| OnnxError::Model { place: place.to_owned(), sha256: sha256.clone(), reason };
        let (model, proto) = Model::parse(&bytes).map_err(unusable)?;
        let layout = Layout::of(&model).transpose().map_err(unusable)?;
        let engine: Box<dyn Engine> = match library::locate(options.engine)? {
            Some(library) => Box::new(ort::OnnxRuntime::new(&library, &model, bytes, options)?),
            None if options.provider.is_some() => return Err(OnnxError::ProviderOfTract),
            None => Box::new(tract::Tract::new(&model, &proto, options).map_err(unusable)?),
        };
        if layout.is_none() {
            model.warn_about_batches(name, options.max_batch);
        }
        let decoder = layout.map(|layout| (Arc::new(layout), options.tokens));
        if decoder.is_some() && options.postprocess != Postprocess::None {
            return Err(OnnxError::PostprocessOfTokens(options.postprocess));
        }
        if decoder.is_some() && !options.inputs.is_empty() {
            return Err(OnnxError::InputsOfTokens);
        }
        let order = InputOrder::new(&model.inputs, &options.inputs).map_err(|reason| OnnxError::Inputs {
            model: name.to_owned(),
            inputs: model.inputs.to_string(),
            reason,
        })?;
        let outputs = options.postprocess.outputs(&model.outputs)?;
        let info = BackendInfo {
            engine: engine.name().to_owned(),
            model: name.to_owned(),
            model_sha256: Some(sha256),
            inputs: order.signature.clone(),
            outputs,
        };
        let info = match &decoder {
            Some((layout, tokens)) => decodes(info, layout, tokens),
            None => info,
        };
        Ok(Onnx { info, model, engine, order, postprocess: options.postprocess, decoder })
    }
}

/// Tokens of a prompt where nobody says how many.
const USUAL_PROMPT_TOKENS: u32 = 16;

/// What is said of a model that decodes: tokens in, tokens out.
fn decodes(info: BackendInfo, layout: &Layout, tokens: &TokenOptions) -> BackendInfo {
    let (slots, context, bytes) = (tokens.slots, tokens.max_context, layout.bytes_per_token());
    tracing::info!(
        "{} decodes {slots} samples at one time for each worker, {}; their caches take up to {} MB ({context} tokens \
         of {bytes} bytes each)",
        info.model,
        if layout.is_batched() { "all in one run" } else { "one by one" },
        (slots.get() * context.get()).saturating_mul(bytes) / 1_000_000,
    );
    let answer = TensorSpec::new("tokens", DType::I64, vec![None, None]);
    BackendInfo { inputs: decoder::inputs(), outputs: Signature::new(vec![answer]), ..info }
}

impl Backend for Onnx {
    fn info(&self) -> &BackendInfo {
        &self.info
    }

    fn execution(&self) -> Execution {
        Execution::Workers
    }

    fn input(&self) -> Input {
        Input::Tensors
    }

    fn cores_per_inference(&self) -> usize {
        self.engine.threads()
    }

    fn slots(&self) -> Option<NonZeroUsize> {
        self.decoder.as_ref().map(|(_, tokens)| tokens.slots)
    }

    fn usual_size(&self) -> Option<u32> {
        self.decoder.as_ref().map(|_| USUAL_PROMPT_TOKENS)
    }

    fn worker(&self) -> Result<Half, BackendError> {
        let cannot_run = |batch, reason| OnnxError::CannotRun {
            engine: self.info.engine.clone(),
            model: self.info.model.clone(),
            sha256: self.info.model_sha256.clone().unwrap_or_default(),
            batch,
            reason,
            hint: self.engine.hint(),
        };
        let session = self.engine.session().map_err(|reason| cannot_run(1, reason))?;
        if let Some((layout, tokens)) = &self.decoder {
            let mut decoder = Decoder::new(Arc::clone(layout), session, &self.info.engine, *tokens);
            decoder.warm_up().map_err(|(batch, reason)| cannot_run(batch, reason))?;
            return Ok(Half::Stream(Box::new(decoder)));
        }
        let mut worker =
            OnnxWorker::new(self.model.clone(), self.order.clone(), session, &self.info.engine, self.postprocess);
        worker.warm_up().map_err(|(batch, reason)| cannot_run(batch, reason))?;
        Ok(Half::Batch(Box::new(worker)))
    }
}

impl std::fmt::Debug for Onnx {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Onnx").field("info", &self.info).finish_non_exhaustive()
    }
}

/// Why a model cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum OnnxError {
    /// The inputs that are named are not the model's.
    #[error("--inputs does not fit {model}: {reason} (its inputs are {inputs})")]
    Inputs {
        /// The model.
        model: String,
        /// What it takes.
        inputs: String,
        /// Which name is wrong.
        reason: String,
    },
    /// The inputs of a decoder are not the sample's tensors.
    #[error("--inputs is not for a model that answers token by token")]
    InputsOfTokens,
    /// Tokens are answered as they are.
    #[error("--postprocess {0} is not for a model that answers token by token")]
    PostprocessOfTokens(Postprocess),
    /// Its outputs do not allow the post-processing.
    #[error(transparent)]
    Postprocess(#[from] PostprocessError),
    /// The model, or the list of sums beside it, cannot be read.
    #[error("cannot read {path}: {cause}")]
    Read {
        /// Which file.
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
        /// The model.
        path: PathBuf,
        /// The list.
        list: PathBuf,
        /// Sum in the list.
        expected: String,
        /// Sum of the file.
        actual: String,
    },
    /// The bytes are no model, or one that cannot be served.
    #[error("{place} (SHA-256 {sha256}) cannot be used as a model: {reason}")]
    Model {
        /// Its path, or its name when it is not a file.
        place: String,
        /// Its sum.
        sha256: String,
        /// What is wrong, and what to do about it.
        reason: String,
    },
    /// The engine refuses the model, or fails on an input of zeros.
    #[error("{engine} cannot run {model} (SHA-256 {sha256}) with a batch of {batch}: {reason}{hint}")]
    CannotRun {
        /// What should have run it.
        engine: String,
        /// The model.
        model: String,
        /// Its sum.
        sha256: String,
        /// Samples in the batch.
        batch: usize,
        /// In the engine's words.
        reason: String,
        /// What else to try.
        hint: &'static str,
    },
    /// ONNX Runtime's library is there but cannot be used.
    #[error(
        "ONNX Runtime's library {path} ({origin}) cannot be used: {reason}; point ORT_DYLIB_PATH at a \
         libonnxruntime.so of version 1.22 or later, or take it away to use the embedded engine"
    )]
    Library {
        /// Which file.
        path: PathBuf,
        /// How it was found.
        origin: &'static str,
        /// What is wrong.
        reason: String,
    },
    /// ONNX Runtime's library does not have the execution provider that was asked for.
    #[error("ONNX Runtime's library {path} will not do: {reason}")]
    Provider {
        /// Which file.
        path: PathBuf,
        /// What it has not, and what it has.
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

#[cfg(test)]
mod tests;
