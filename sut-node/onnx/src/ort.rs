//! ONNX Runtime, through its shared library, opened at run time.
//!
//! The library and its environment belong to the process: they are opened once, shared by all models, and never closed.
//! Not every part of a session is safe to run from two threads, so every worker has a session of its own. Sessions of
//! several workers share their weights.

use std::error::Error as _;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use bytes::Bytes;
use lon_sut::backend::BackendOptions;
use lon_sut::backend_files::{self, printable};
use ort::environment::Environment;
use ort::logging::LogLevel;
use ort::session::builder::GraphOptimizationLevel;
use ort::session::{HasSelectedOutputs, OutputSelector, RunOptions, Session as OrtSession};
use tract_onnx::pb::ModelProto;

use super::engine::{BatchInput, BatchOutput, Engine, Session, Sizes, is_trying};
use super::ep;
use super::error::OnnxError;
use super::footprint::Footprint;
use super::library::{self, Library};
use super::log_limit::{Admitted, LogLimit};
use super::model::Model;
use super::sums::{self, MODEL_LIMIT};
use super::values;
use super::weights::Weights;

/// A model as ONNX Runtime runs it.
pub(super) struct OnnxRuntime {
    name: String,
    environment: Environment,
    model: Arc<Model>,
    source: Source,
    /// The folder that has weights in files of their own.
    folder: Option<String>,
    /// The weights that the sessions of several workers share.
    weights: Option<Weights>,
    options: BackendOptions,
    footprint: Arc<Footprint>,
}

/// A model as it was read.
pub(super) struct Parts<'p> {
    pub(super) model: &'p Model,
    pub(super) proto: &'p ModelProto,
    pub(super) source: Source,
    pub(super) folder: Option<String>,
    pub(super) footprint: Footprint,
}

/// Where a session has the content of the model file from.
pub(super) enum Source {
    /// From memory, which has it for as long as the model is there.
    Memory(Bytes),
    /// From the file, which is read again for each session: its content is in memory no longer than that takes.
    File {
        /// The path of the file.
        path: PathBuf,
        /// Its SHA-256, in hexadecimal.
        sha256: String,
    },
}

impl Source {
    fn bytes(&self) -> Result<Bytes, String> {
        match self {
            Source::Memory(bytes) => Ok(bytes.clone()),
            Source::File { path, sha256 } => {
                let bytes =
                    backend_files::bytes(path, MODEL_LIMIT).map_err(|error| format!("{}: {error}", path.display()))?;
                match sums::sha256(&bytes) == *sha256 {
                    true => Ok(bytes.into()),
                    false => Err(format!("{} is no longer the file that it was", path.display())),
                }
            }
        }
    }
}

/// The option with which a model that is in memory is told where its other files are.
const FOLDER: &str = "session.model_external_initializers_file_folder_path";

/// The option by which threads rest as soon as a run ends. Between two runs the cores are the network threads'. Without
/// a spin inside a run, models of many small parts lose up to a tenth of their rate.
const STOP_SPINNING: &str = "session.force_spinning_stop";

impl OnnxRuntime {
    pub(super) fn new(library: &Library, parts: Parts<'_>, options: &BackendOptions) -> Result<OnnxRuntime, OnnxError> {
        let environment = environment(&library.path).map_err(|reason| library.unusable(reason))?;
        let version = library::version(&library.path).unwrap_or_else(|| "of unknown version".to_owned());
        let mut name = format!("onnxruntime {version}");
        if let Some(provider) = options.provider {
            ep::check(provider).map_err(|reason| library.unusable_for(reason))?;
            name = format!("{name} on {provider}");
        }
        let Parts { model, proto, source, folder, footprint } = parts;
        // A single session needs no second copy of its weights, and other providers have theirs elsewhere.
        let is_shared = options.workers.get() > 1 && ep::dispatch(options.provider).is_none();
        let weights = is_shared.then(|| Weights::of(proto)).transpose();
        let weights = weights.map_err(|error| library.unusable(error.to_string()))?;
        let (model, footprint, options) = (Arc::new(model.clone()), Arc::new(footprint), options.clone());
        Ok(OnnxRuntime { name, environment, model, source, folder, weights, options, footprint })
    }

    /// Returns true when threads may spin between the parts of one run, where each has a core of its own.
    fn spins(&self) -> bool {
        let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        self.options.workers.get().saturating_mul(self.options.threads.get()) <= cores
    }

    fn open(&self) -> Result<OrtSession, String> {
        let bytes = self.source.bytes()?;
        let open = || -> ort::Result<OrtSession> {
            let provider = ep::dispatch(self.options.provider);
            let mut builder = OrtSession::builder(&self.environment)?
                .with_execution_providers(provider.as_slice())?
                // Level 3 is without what makes f16 as quick and as exact as in Python.
                .with_optimization_level(GraphOptimizationLevel::All)?
                .with_intra_threads(self.options.threads.get())?
                .with_intra_op_spinning(self.spins())?
                .with_config_entry(STOP_SPINNING, "1")?
                .with_inter_threads(1)?;
            if let Some(folder) = &self.folder {
                builder = builder.with_config_entry(FOLDER, folder)?;
            }
            if let Some(weights) = &self.weights {
                builder = weights.give(builder)?;
            }
            builder.commit_from_memory(&bytes)
        };
        open().map_err(|error| error.to_string())
    }
}

impl Engine for OnnxRuntime {
    fn name(&self) -> &str {
        &self.name
    }

    fn hint(&self) -> &'static str {
        ""
    }

    fn threads(&self) -> usize {
        self.options.threads.get()
    }

    fn footprint(&self) -> Arc<Footprint> {
        Arc::clone(&self.footprint)
    }

    fn session(&self) -> Result<Box<dyn Session>, String> {
        let session = self.open()?;
        let names: Vec<String> = session.inputs().iter().map(|input| printable(input.name())).collect();
        let expected: Vec<&str> = self.model.inputs.iter().map(|input| input.name.as_str()).collect();
        if names != expected {
            return Err(format!("it takes the inputs to be {names:?}, the file says {expected:?}"));
        }
        let max_batch = self.model.max_batch(self.options.max_batch);
        let options = self.model.chosen.as_deref().map(|places| chosen(&session, places)).transpose();
        let options = options.map_err(|error| error.to_string())?;
        Ok(Box::new(Runner { session, model: Arc::clone(&self.model), options, max_batch }))
    }
}

/// Has a run return the outputs at these places, in this order.
fn chosen(session: &OrtSession, places: &[usize]) -> ort::Result<RunOptions<HasSelectedOutputs>> {
    let outputs = session.outputs();
    let names = places.iter().filter_map(|&place| outputs.get(place)).map(|output| output.name());
    let selector = names.fold(OutputSelector::no_default(), |selector, name| selector.with(name));
    Ok(RunOptions::new()?.with_outputs(selector))
}

/// The process has one environment, made from one library.
fn environment(path: &Path) -> Result<Environment, String> {
    static LOADED: Mutex<Option<(PathBuf, Environment)>> = Mutex::new(None);
    // Absolute, since the loader would look for a relative path beside the program first.
    let path = std::path::absolute(path).map_err(|error| error.to_string())?;
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    match &*loaded {
        Some((other, environment)) if *other == path => return Ok(environment.clone()),
        Some((other, _)) => return Err(format!("this process has opened {} already", other.display())),
        None => {}
    }
    let builder = ort::init_from(&path).map_err(|error| load_reason(&error))?;
    let builder = builder.with_name("sut-node").with_telemetry(false).with_logger(Arc::new(log));
    let environment = builder.build().map_err(|error| error.to_string())?;
    environment.set_log_level(LogLevel::Warning);
    *loaded = Some((path, environment.clone()));
    Ok(environment)
}

/// The reason that the dynamic loader gives, which is the innermost cause of the error.
fn load_reason(error: &ort::LoadDynamicError) -> String {
    match error {
        ort::LoadDynamicError::Dlopen { error, .. } => {
            error.source().map_or_else(|| error.to_string(), ToString::to_string)
        }
        other => other.to_string(),
    }
}

fn log(level: LogLevel, category: &str, _id: &str, location: &str, message: &str) {
    static LIMIT: Mutex<LogLimit> = Mutex::new(LogLimit::NEW);
    let is_error = match level {
        _ if is_trying() => {
            return tracing::debug!(category, said = message, location, "ONNX Runtime, on what was made up");
        }
        LogLevel::Verbose | LogLevel::Info => {
            return tracing::debug!(category, said = message, location, "ONNX Runtime");
        }
        LogLevel::Warning => false,
        LogLevel::Error | LogLevel::Fatal => true,
    };
    let admitted = LIMIT.lock().unwrap_or_else(PoisonError::into_inner).admit(Instant::now());
    let Some(Admitted { left_out, is_last }) = admitted else { return };
    if left_out > 0 {
        tracing::warn!(lines = left_out, "ONNX Runtime said more, which was left out");
    }
    match is_error {
        true => tracing::error!(category, said = message, location, "ONNX Runtime"),
        false => tracing::warn!(category, said = message, location, "ONNX Runtime"),
    }
    if is_last {
        tracing::warn!("ONNX Runtime says much: the rest of this minute is left out");
    }
}

struct Runner {
    session: OrtSession,
    model: Arc<Model>,
    /// Which outputs a run returns; none: all of them.
    options: Option<RunOptions<HasSelectedOutputs>>,
    max_batch: NonZeroUsize,
}

impl Session for Runner {
    fn sizes(&self) -> Sizes {
        Sizes::UpTo(self.max_batch)
    }

    fn run(&mut self, inputs: &[BatchInput<'_>]) -> Result<Vec<BatchOutput>, String> {
        let mut run = || -> ort::Result<Vec<BatchOutput>> {
            let inputs = inputs.iter().map(|input| values::input(input.dtype, &input.dims, &input.parts));
            let inputs = inputs.collect::<ort::Result<Vec<_>>>()?;
            let outputs = match &self.options {
                Some(options) => self.session.run_with_options::<_, 0>(inputs.as_slice(), options)?,
                None => self.session.run::<0>(inputs.as_slice())?,
            };
            let specs = self.model.outputs.iter();
            specs.zip(outputs.values()).map(|(spec, value)| values::output(spec.dtype, &value)).collect()
        };
        run().map_err(|error| error.to_string())
    }
}
