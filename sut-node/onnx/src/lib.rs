//! Runs an ONNX model: ONNX Runtime when its library is there, else the embedded tract.
//!
//! - `model`: from the bytes of a file to a signature, and the batches that the model allows;
//! - `port`: one input or output, and what else a model may have there; `nodes`: all nodes of a model;
//! - `external`: weights in other files; `sums`: the SHA-256 of all of them, and the list beside the model;
//! - `library`: where ONNX Runtime's library is, and which version it has;
//! - `footprint`: how much memory a run of a model with free sizes takes;
//! - `engine`: what an engine is: tensors of a batch in, tensors of a batch out;
//! - `ort`, `tract`: the two engines; `ep`, `values`, `weights`, `log_limit`: providers, tensors, shared weights and
//!   log of ONNX Runtime;
//! - `faults`: refuses models that tract would compute wrongly;
//! - `batch_first`: outputs that have the batch behind other dimensions;
//! - `sharing`: whether samples share runs; `proof`: that they may; `trial_samples`: what that is tried on;
//! - `batch`: from samples to one batch to answers (the [`Worker`](lon_sut::backend::Worker)); `output_sizes`: whether
//!   outputs are what the file says;
//! - `decoder`: from samples to tokens, with a cache (the [`Streamer`](lon_sut::backend::Streamer)), for models that
//!   have one;
//! - `error`: why a model cannot be used.
//!
//! The signature is read from the model file itself, so it is the same for both engines, and known before anything has
//! run.

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use lon_sut::backend::{Backend, BackendError, BackendInfo, BackendKind, BackendOptions, Half, TokenOptions};
use lon_sut::backend_files;
use lon_sut::node_setting::Setting;
use lon_sut::pipeline::post::Postprocess;
use lon_sut::tensor::{DType, Signature, TensorSpec};
use sha2::{Digest as _, Sha256};

use self::batch::{AnswerRules, Bound, OnnxWorker};
use self::batch_first::batch_first;
use self::decoder::{Decoder, Layout};
use self::engine::{Engine, SpareSession};
use self::external::External;
use self::footprint::Footprint;
use self::model::{InputOrder, Model};
use self::sharing::Sharing;
use self::sums::{MODEL_LIMIT, Sums};

mod batch;
mod batch_first;
mod decoder;
mod engine;
mod ep;
mod error;
mod external;
mod faults;
mod footprint;
mod library;
mod log_limit;
mod model;
mod nodes;
mod ort;
mod output_sizes;
mod port;
mod proof;
mod sharing;
mod sums;
mod tract;
mod trial_samples;
mod values;
mod weights;

pub use self::error::OnnxError;

/// This backend in the list of a program: `onnx:PATH`.
pub const KIND: BackendKind = BackendKind {
    flags: &[
        "--ep",
        "--postprocess",
        "--inputs",
        "--outputs",
        "--batch-dim",
        "--dims",
        "--allow-empty",
        "--beams",
        "--try",
    ],
    library_variable: Some("ORT_DYLIB_PATH"),
    ..BackendKind::new("onnx", "onnx:MODEL.onnx", |path, options| Ok(Arc::new(Onnx::open(path.as_ref(), options)?)))
};

/// An ONNX model and the engine that runs it.
pub struct Onnx {
    info: BackendInfo,
    model: Model,
    engine: Box<dyn Engine>,
    order: InputOrder,
    rules: AnswerRules,
    /// The most bytes of memory that one run may take.
    max_run_bytes: u64,
    /// Lets several samples share a run when true.
    shares_runs: bool,
    /// For a model that answers token by token: its tensors, and how it answers.
    decoder: Option<(Arc<Layout>, TokenOptions)>,
    spare: SpareSession,
}

impl Onnx {
    /// Advice on a further attempt with a model that does not run.
    fn hint(&self) -> String {
        let advice = self.engine.hint();
        match self.model.dims_to_give() {
            Some(dims) if !advice.is_empty() => {
                format!("{advice}, or this engine with sizes that are given: --dims {dims}")
            }
            _ => advice.to_owned(),
        }
    }

    /// The model in the file at `path`, with the weights that it may have in other files of its folder. When a
    /// `SHA256SUMS` beside them lists a file, its sum must match.
    ///
    /// # Errors
    /// See [`OnnxError`].
    pub fn open(path: &Path, options: &BackendOptions) -> Result<Onnx, OnnxError> {
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
        let bytes = backend_files::bytes(path, MODEL_LIMIT);
        let bytes: Bytes = bytes.map_err(|cause| OnnxError::Read { path: path.to_owned(), cause })?.into();
        let sums = Sums::of_model(path)?;
        sums.check(path, &name, sums::sha256(&bytes))?;
        Onnx::load(&name, &path.display().to_string(), File { bytes, path: Some(path), sums: &sums }, options)
    }

    /// A model that is in memory already, for example built into the program. `name` is shown as its file name. No list
    /// of sums is looked for; the sum is in [`BackendInfo::model_sha256`] for the caller to check.
    ///
    /// # Errors
    /// See [`OnnxError`].
    pub fn from_bytes(name: &str, bytes: impl Into<Bytes>, options: &BackendOptions) -> Result<Onnx, OnnxError> {
        Onnx::load(name, name, File { bytes: bytes.into(), path: None, sums: &Sums::default() }, options)
    }

    fn load(name: &str, place: &str, file: File<'_>, options: &BackendOptions) -> Result<Onnx, OnnxError> {
        let mut sum = Sha256::new_with_prefix(&file.bytes);
        let of_file = hex::encode(sum.clone().finalize());
        let unusable = |reason| OnnxError::Model { place: place.to_owned(), sha256: of_file.clone(), reason };
        let (model, proto) = Model::parse(&file.bytes, options).map_err(unusable)?;
        let external = External::of(&proto, &file.bytes, file.folder()).map_err(unusable)?;
        let more_bytes = external.as_ref().map_or(Ok(0), |external| external.add_to(&mut sum, file.sums))?;
        let (sha256, model_bytes) = (hex::encode(sum.finalize()), file.bytes.len() as u64 + more_bytes);
        let layout = Layout::of(&model).transpose().map_err(unusable)?;
        let folder = external.map(|external| external.folder);
        let engine: Box<dyn Engine> = match library::locate(options.engine)? {
            Some(library) => {
                let is_free = model.has_free_dims() && layout.is_none();
                let footprint = if is_free { tract::footprint(&model, &proto) } else { Footprint::unknown() };
                let (model, proto, source) = (&model, &proto, file.source(of_file));
                let parts = ort::Parts { model, proto, source, folder, footprint };
                Box::new(ort::OnnxRuntime::new(&library, parts, options)?)
            }
            None if options.provider.is_some() => return Err(OnnxError::ProviderOfTract),
            None => {
                faults::refuse(&proto).map_err(unusable)?;
                Box::new(tract::Tract::new(&model, &proto, folder.as_deref(), options).map_err(unusable)?)
            }
        };
        let engine = batch_first(&model.batch_axes, engine);
        if layout.is_some() {
            fit_tokens(options)?;
        }
        if layout.is_none() && options.tokens.beams.get() > 1 {
            return Err(OnnxError::BeamsWithoutTokens(name.to_owned()));
        }
        let order = InputOrder::new(&model.inputs, &options.inputs).map_err(|reason| OnnxError::Inputs {
            model: name.to_owned(),
            inputs: model.inputs.to_string(),
            reason,
        })?;
        let outputs = options.postprocess.outputs(&model.outputs)?;
        let spare = SpareSession::default();
        let (sharing, decoder) = match layout {
            None => (Sharing::find(name, (&model, &proto), engine.as_ref(), options, &spare)?, None),
            Some(layout) => {
                let sharing = Sharing::of_slots(name, &layout, engine.as_ref(), options, &spare);
                let layout = if sharing.shares_runs { layout } else { layout.one_by_one() };
                (sharing, Some((Arc::new(layout), options.tokens)))
            }
        };
        let outputs = if sharing.counts_rows { of_one_sample(&outputs) } else { outputs };
        let info = BackendInfo {
            engine: engine.name().to_owned(),
            model: name.to_owned(),
            model_sha256: Some(sha256),
            model_bytes: Some(model_bytes),
            settings: [settings(options, decoder.is_some()), sharing.settings].concat(),
            inputs: order.signature.clone(),
            outputs,
        };
        let info = match &decoder {
            Some((layout, tokens)) => decodes(info, layout, tokens),
            None => info,
        };
        let (rules, max_run_bytes, shares_runs) =
            (AnswerRules::of(options), options.max_run_bytes, sharing.shares_runs);
        Ok(Onnx { info, model, engine, order, rules, max_run_bytes, shares_runs, decoder, spare })
    }
}

/// A model file as it was read.
struct File<'a> {
    bytes: Bytes,
    /// Where it lies, where it lies somewhere.
    path: Option<&'a Path>,
    /// The list of sums beside it.
    sums: &'a Sums,
}

impl File<'_> {
    /// The folder that it is in.
    fn folder(&self) -> Option<&Path> {
        let folder = self.path?.parent()?;
        Some(if folder.as_os_str().is_empty() { Path::new(".") } else { folder })
    }

    /// Where sessions have it from; `sha256` is its own.
    fn source(self, sha256: String) -> ort::Source {
        match self.path {
            Some(path) => ort::Source::File { path: path.to_owned(), sha256 },
            None => ort::Source::Memory(self.bytes),
        }
    }
}

/// Refuses options that are for models which answer with their outputs.
fn fit_tokens(options: &BackendOptions) -> Result<(), OnnxError> {
    for (flag, is_given) in [
        ("--postprocess", options.postprocess != Postprocess::None),
        ("--inputs", !options.inputs.is_empty()),
        ("--outputs", !options.outputs.is_empty()),
        ("--allow-empty", options.allows_empty),
    ] {
        if is_given {
            return Err(OnnxError::OfTokens(flag));
        }
    }
    Ok(())
}

/// The options that the engine heeds.
fn settings(options: &BackendOptions, decodes: bool) -> Vec<Setting> {
    let mut settings = vec![
        Setting::of_speed("threads", options.threads),
        Setting::of_answers("execution_provider", options.provider.map_or("CPU", |provider| provider.name())),
    ];
    if decodes {
        settings.extend(options.tokens.settings());
    } else {
        settings.push(Setting::of_answers("postprocess", options.postprocess));
        settings.push(Setting::of_answers("inputs", options.inputs.join(",")));
    }
    if !options.outputs.is_empty() {
        settings.push(Setting::of_answers("outputs", options.outputs.join(",")));
    }
    if options.allows_empty {
        settings.push(Setting::of_answers("allow_empty", true));
    }
    if !options.dims.is_empty() {
        let dims: Vec<String> = options.dims.iter().map(ToString::to_string).collect();
        settings.push(Setting::of_answers("dims", dims.join(",")));
    }
    settings
}

/// The outputs of a model that takes samples one by one: a free leading dimension is no batch, it counts rows of the
/// one sample.
fn of_one_sample(outputs: &Signature) -> Signature {
    let spec_of = |spec: &TensorSpec| match spec.dims.first() {
        Some(None) => TensorSpec { dims: [&[Some(1)], &spec.dims[..]].concat(), ..spec.clone() },
        _ => spec.clone(),
    };
    Signature::new(outputs.iter().map(spec_of).collect())
}

/// The usual number of tokens of a prompt.
const USUAL_PROMPT_TOKENS: u32 = 16;

/// The info of a model that answers token by token: tokens in, tokens out. Logs how much memory it may take.
fn decodes(info: BackendInfo, layout: &Layout, tokens: &TokenOptions) -> BackendInfo {
    let (slots, context, bytes) = (tokens.slots, tokens.max_context, layout.bytes_per_token());
    tracing::info!(
        model = info.model,
        samples_at_once = slots,
        are_batched = layout.is_batched(),
        beams = tokens.beams,
        cache_mb = tokens.lanes().saturating_mul(context.get()).saturating_mul(bytes) / 1_000_000,
        context_tokens = context,
        bytes_per_token = bytes,
        "each worker decodes several samples at one time"
    );
    let answer = TensorSpec::new("tokens", DType::I64, vec![None, None]);
    BackendInfo { inputs: decoder::inputs(), outputs: Signature::new(vec![answer]), ..info }
}

impl Backend for Onnx {
    fn info(&self) -> &BackendInfo {
        &self.info
    }

    fn cores_per_inference(&self) -> usize {
        self.engine.threads()
    }

    fn slots(&self) -> Option<NonZeroUsize> {
        self.decoder.as_ref().map(|(_, tokens)| tokens.slots)
    }

    fn samples_of_a_run(&self) -> Option<NonZeroUsize> {
        (!self.shares_runs && self.decoder.is_none()).then_some(NonZeroUsize::MIN)
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
            reason: format!("{reason}{}", self.hint()),
        };
        let session = self.spare.take().map_or_else(|| self.engine.session(), Ok);
        let session = session.map_err(|reason| cannot_run(1, reason))?;
        if let Some((layout, tokens)) = &self.decoder {
            let mut decoder = Decoder::new(Arc::clone(layout), session, &self.info.engine, *tokens);
            decoder.warm_up().map_err(|(batch, reason)| cannot_run(batch, reason))?;
            return Ok(Half::Stream(Box::new(decoder)));
        }
        let bound = self.model.has_free_dims().then(|| Bound::new(self.engine.footprint(), self.max_run_bytes));
        let (model, order) = (self.model.clone(), self.order.clone());
        let (engine, rules) = (&self.info.engine, self.rules);
        let mut worker = OnnxWorker::new(model, order, session, engine, rules, bound, self.shares_runs);
        worker.warm_up().map_err(|(batch, reason)| cannot_run(batch, reason))?;
        Ok(Half::Batch(Box::new(worker)))
    }
}

impl std::fmt::Debug for Onnx {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Onnx").field("info", &self.info).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
