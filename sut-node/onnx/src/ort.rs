//! ONNX Runtime, through its shared library, opened at run time.
//!
//! The library and its environment belong to the process: they are opened once, shared by all models, and never closed.
//! Not every part of a session is safe to run from two threads, so every worker has a session of its own.

use std::error::Error as _;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use half::{bf16, f16};
use lon_sut::backend::BackendOptions;
use lon_sut::others::printable;
use lon_sut::tensor::DType;
use ort::environment::Environment;
use ort::logging::LogLevel;
use ort::session::builder::GraphOptimizationLevel;
use ort::session::{Session as OrtSession, SessionInputValue};
use ort::value::{DynValue, PrimitiveTensorElementType, Tensor};

use super::engine::{BatchInput, BatchOutput, Engine, Session, Sizes, is_trying};
use super::ep;
use super::error::OnnxError;
use super::footprint::Footprint;
use super::library::{self, Library};
use super::model::Model;

/// A model as ONNX Runtime runs it.
pub(super) struct OnnxRuntime {
    name: String,
    environment: Environment,
    model: Arc<Model>,
    bytes: Bytes,
    options: BackendOptions,
    footprint: Arc<Footprint>,
}

impl OnnxRuntime {
    pub(super) fn new(
        library: &Library,
        model: &Model,
        bytes: Bytes,
        footprint: Footprint,
        options: &BackendOptions,
    ) -> Result<OnnxRuntime, OnnxError> {
        let environment = environment(&library.path).map_err(|reason| library.unusable(reason))?;
        let version = library::version(&library.path).unwrap_or_else(|| "of unknown version".to_owned());
        let mut name = format!("onnxruntime {version}");
        if let Some(provider) = options.provider {
            ep::check(provider).map_err(|reason| library.unusable_for(reason))?;
            name = format!("{name} on {provider}");
        }
        let (model, footprint) = (Arc::new(model.clone()), Arc::new(footprint));
        Ok(OnnxRuntime { name, environment, model, bytes, options: options.clone(), footprint })
    }

    fn open(&self) -> ort::Result<OrtSession> {
        let provider = ep::dispatch(self.options.provider);
        OrtSession::builder(&self.environment)?
            .with_execution_providers(provider.as_slice())?
            .with_optimization_level(GraphOptimizationLevel::Level3)?
            .with_intra_threads(self.options.threads.get())?
            // Idle threads that spin gain nothing measurable here and take cores from the network threads.
            .with_intra_op_spinning(false)?
            .with_inter_threads(1)?
            .commit_from_memory(&self.bytes)
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
        let session = self.open().map_err(|error| error.to_string())?;
        let names: Vec<String> = session.inputs().iter().map(|input| printable(input.name())).collect();
        let expected: Vec<&str> = self.model.inputs.iter().map(|input| input.name.as_str()).collect();
        if names != expected {
            return Err(format!("it takes the inputs to be {names:?}, the file says {expected:?}"));
        }
        let max_batch = self.model.max_batch(self.options.max_batch);
        Ok(Box::new(Runner { session, model: Arc::clone(&self.model), max_batch }))
    }
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
    match level {
        _ if is_trying() => tracing::debug!(category, said = message, location, "ONNX Runtime, on what was made up"),
        LogLevel::Verbose | LogLevel::Info => tracing::debug!(category, said = message, location, "ONNX Runtime"),
        LogLevel::Warning => tracing::warn!(category, said = message, location, "ONNX Runtime"),
        LogLevel::Error | LogLevel::Fatal => tracing::error!(category, said = message, location, "ONNX Runtime"),
    }
}

struct Runner {
    session: OrtSession,
    model: Arc<Model>,
    max_batch: NonZeroUsize,
}

impl Session for Runner {
    fn sizes(&self) -> Sizes {
        Sizes::UpTo(self.max_batch)
    }

    fn run(&mut self, inputs: &[BatchInput<'_>]) -> Result<Vec<BatchOutput>, String> {
        let mut run = || -> ort::Result<Vec<BatchOutput>> {
            let inputs = inputs.iter().map(|input| Ok(SessionInputValue::from(input_value(input)?)));
            let inputs = inputs.collect::<ort::Result<Vec<_>>>()?;
            let outputs = self.session.run::<0>(inputs.as_slice())?;
            let specs = self.model.outputs.iter();
            specs.zip(outputs.values()).map(|(spec, value)| output(spec.dtype, &value)).collect()
        };
        run().map_err(|error| error.to_string())
    }
}

/// Calls `$function::<T>` for the Rust type `T` that a [`DType`] stands for.
macro_rules! with_type {
    ($dtype:expr, $function:ident($($argument:expr),*)) => {
        match $dtype {
            DType::U8 => $function::<u8, 1>($($argument),*),
            DType::I8 => $function::<i8, 1>($($argument),*),
            DType::U16 => $function::<u16, 2>($($argument),*),
            DType::I16 => $function::<i16, 2>($($argument),*),
            DType::U32 => $function::<u32, 4>($($argument),*),
            DType::I32 => $function::<i32, 4>($($argument),*),
            DType::U64 => $function::<u64, 8>($($argument),*),
            DType::I64 => $function::<i64, 8>($($argument),*),
            DType::F16 => $function::<f16, 2>($($argument),*),
            DType::Bf16 => $function::<bf16, 2>($($argument),*),
            DType::F32 => $function::<f32, 4>($($argument),*),
            DType::F64 => $function::<f64, 8>($($argument),*),
            DType::Bool => $function::<bool, 1>($($argument),*),
            other => Err(ort::Error::new(format!("samples of {other} are not handed to ONNX Runtime"))),
        }
    };
}

fn input_value(input: &BatchInput<'_>) -> ort::Result<DynValue> {
    with_type!(input.dtype, typed_input(&input.dims, &input.parts))
}

fn typed_input<T: Element<N>, const N: usize>(dims: &[usize], parts: &[&[u8]]) -> ort::Result<DynValue> {
    let mut data = Vec::with_capacity(dims.iter().product());
    for part in parts {
        data.extend(part.as_chunks().0.iter().map(|&bytes| T::read(bytes)));
    }
    Ok(Tensor::from_array((dims.to_vec(), data))?.into_dyn())
}

fn output(dtype: DType, value: &DynValue) -> ort::Result<BatchOutput> {
    with_type!(dtype, typed_output(dtype, value))
}

fn typed_output<T: Element<N>, const N: usize>(dtype: DType, value: &DynValue) -> ort::Result<BatchOutput> {
    let (shape, elements) = value.try_extract_tensor::<T>()?;
    let mut data = vec![0; elements.len() * N];
    for (bytes, &element) in data.as_chunks_mut().0.iter_mut().zip(elements) {
        *bytes = element.write();
    }
    // Sizes of a tensor in memory are not negative.
    Ok(BatchOutput { dtype, dims: shape.iter().map(|&dim| dim as usize).collect(), data })
}

/// An element type and its `N` little-endian bytes.
trait Element<const N: usize>: PrimitiveTensorElementType + Copy + std::fmt::Debug + 'static {
    fn read(bytes: [u8; N]) -> Self;
    fn write(self) -> [u8; N];
}

macro_rules! elements {
    ($($kind:ty: $size:literal),*) => {$(
        impl Element<$size> for $kind {
            fn read(bytes: [u8; $size]) -> $kind {
                <$kind>::from_le_bytes(bytes)
            }

            fn write(self) -> [u8; $size] {
                self.to_le_bytes()
            }
        }
    )*};
}

elements!(u8: 1, i8: 1, u16: 2, i16: 2, u32: 4, i32: 4, u64: 8, i64: 8, f16: 2, bf16: 2, f32: 4, f64: 8);

impl Element<1> for bool {
    fn read([byte]: [u8; 1]) -> bool {
        byte != 0
    }

    fn write(self) -> [u8; 1] {
        [u8::from(self)]
    }
}
