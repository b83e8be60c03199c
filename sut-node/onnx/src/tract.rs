//! tract, the engine inside this program: pure Rust, nothing to install.
//!
//! tract is fastest with all sizes known, so a model gets one plan per batch size, made when first needed (all of them
//! before a run starts) and shared by the workers. Each plan holds its own packed weights; sizes are therefore powers
//! of two: a batch of 7 runs as 4, 2 and 1, which costs no more time here (tract gains nothing from larger batches)
//! and bounds the plans. A model with further free sizes (sequence lengths) has one plan for all of them instead.
//!
//! An inference runs on its worker's thread alone: `threads` has no effect here, and more workers use more cores.
//!
//! Why not rten 0.27, which is pure Rust as well, builds in a fifth of the CPU time and is faster on all five models
//! of the tests (ResNet50 10.2 samples/s against 7.5, digits in batches of 32 73 k/s against 43 k/s, one thread,
//! medians of five runs in turns)? It answers wrongly without an error: of 1,553 node models of the package `onnx`
//! 1.19.1 it has 20 wrong and 987 right, tract 3 and 1,047 (1,221 with parameters as exporters write them).
//! NonMaxSuppression mixes the samples of a batch, ConvInteger ignores padding with a zero point, ArgMax takes the last
//! of equal values, and 64 bit integers are 32 bit ones inside, which wrap: no check of inputs and outputs sees that.
//! It has no 3-D convolution, which 3d-unet needs, and no 16 or unsigned 32 and 64 bit integers. Of 75 hostile models
//! with 6 GB of memory (sizes of 2^36 and 2^62, negative ones, cycles, loops without an end) it aborts on 18, mostly by
//! asking for memory, which cannot be caught, and never ends 2; tract aborts on 2 and never ends 1. Of 400 good models
//! with a byte, a size or an attribute changed each aborts on 2. This node, whose checks come before tract, refuses all
//! of these or runs them. rten takes less memory: ResNet50 205 MB against 233 MB for one batch size, and no more for
//! others, where tract takes 130 MB for each (this node: 396 MB with --max-batch 1, 782 MB with 8).

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use lon_shell::panics::contained;
use lon_sut::backend::BackendOptions;
use lon_sut::tensor::DType;
use tract_onnx::pb::ModelProto;
use tract_onnx::prelude::{
    DatumType, InferenceFact, InferenceModel, InferenceModelExt as _, IntoRunnable as _, TDim, TValue, TVec, Tensor,
    TractResult, TypedRunnableModel,
};

use super::engine::{BatchInput, BatchOutput, Engine, Session, Sizes};
use super::footprint::Footprint;
use super::model::Model;

/// The version in Cargo.lock (a test compares).
const NAME: &str = "tract 0.23.9";

// Tensors are handed over as they lie in memory.
const _: () = assert!(cfg!(target_endian = "little"), "tensors are little-endian, and so must this machine be");

type Plan = Arc<TypedRunnableModel>;

/// A model as tract runs it.
pub(super) struct Tract {
    shared: Arc<Shared>,
}

struct Shared {
    model: Model,
    max_batch: NonZeroUsize,
    /// The model as it was read from the file, before any size was set.
    template: InferenceModel,
    /// The plans by batch size; under [`ANY_SIZE`] the plan that serves all sizes.
    plans: Mutex<BTreeMap<usize, Plan>>,
    /// For a model of free sizes.
    footprint: OnceLock<Arc<Footprint>>,
}

const ANY_SIZE: usize = 0;

/// Advice on a model that tract does not run.
const HINT: &str = "; ONNX Runtime may run it (ORT_DYLIB_PATH names its library)";

impl Tract {
    /// `folder` is where the model has weights in files of their own.
    pub(super) fn new(
        model: &Model,
        proto: &ModelProto,
        folder: Option<&str>,
        options: &BackendOptions,
    ) -> Result<Tract, String> {
        if let Some(what) = slow(proto) {
            tracing::warn!(engine = NAME, what, "much slower than with ONNX Runtime (ORT_DYLIB_PATH)");
        }
        let all = model.inputs.iter().chain(model.outputs.iter());
        if let Some(reason) = all.filter_map(|spec| datum_type(spec.dtype).err()).next() {
            return Err(format!("{reason}{HINT}"));
        }
        Ok(Tract { shared: Arc::new(Shared::new(model, proto, folder, model.max_batch(options.max_batch))?) })
    }
}

/// Returns the property of a model that takes this engine many times as long as it takes ONNX Runtime.
fn slow(proto: &ModelProto) -> Option<&'static str> {
    let mut weights = proto.graph.iter().flat_map(|graph| &graph.initializer);
    if super::nodes::nodes(proto).iter().any(|node| node.op_type.starts_with("TreeEnsemble")) {
        return Some("trees");
    }
    weights.any(|weight| weight.data_type == i32::from(DType::F16.code())).then_some("numbers of f16")
}

/// Returns the memory that runs of a model with free sizes take, for another engine that runs it. It is known as far as
/// tract can read the model, provided that all of it is in one file. To read the largest models for this alone would
/// take more than the answer is worth.
pub(super) fn footprint(model: &Model, proto: &ModelProto) -> Footprint {
    let outcome = Shared::new(model, proto, None, NonZeroUsize::MIN).and_then(|shared| {
        no_panic(|| {
            let typed = shared.sized(ANY_SIZE)?.into_typed()?;
            Ok(Footprint::of(&typed, &typed.eval_order()?))
        })
    });
    outcome.unwrap_or_else(|reason| {
        tracing::debug!(reason, "the sizes of this model's tensors are not known");
        Footprint::unknown()
    })
}

impl Engine for Tract {
    fn name(&self) -> &str {
        NAME
    }

    fn hint(&self) -> &'static str {
        HINT
    }

    fn session(&self) -> Result<Box<dyn Session>, String> {
        self.shared.plan(1)?;
        Ok(Box::new(Runner { shared: Arc::clone(&self.shared) }))
    }

    fn footprint(&self) -> Arc<Footprint> {
        Arc::clone(self.shared.footprint.get_or_init(|| {
            let plan = self.shared.plan(1).map(|plan| Footprint::of(plan.model(), plan.order_without_consts()));
            Arc::new(plan.unwrap_or_else(|_| Footprint::unknown()))
        }))
    }
}

impl Shared {
    fn new(model: &Model, proto: &ModelProto, folder: Option<&str>, max_batch: NonZeroUsize) -> Result<Shared, String> {
        // The sizes between the ends are inferred anew for each batch size; those in the file may contradict them.
        let onnx = tract_onnx::onnx().with_ignore_value_info(true);
        let parsed = no_panic(|| onnx.parse(proto, folder))?;
        if !parsed.unresolved_inputs.is_empty() {
            return Err(format!("nothing makes {:?}, which its nodes take", parsed.unresolved_inputs));
        }
        let mut template = parsed.model;
        if let Some(places) = &model.chosen {
            template.outputs = places.iter().filter_map(|&place| template.outputs.get(place).copied()).collect();
        }
        let (plans, footprint) = (Mutex::default(), OnceLock::new());
        Ok(Shared { model: model.clone(), max_batch, template, plans, footprint })
    }

    /// The plan for a batch of this size. It is made under the lock, so that workers that need the same plan make it
    /// once.
    fn plan(&self, batch: usize) -> Result<Plan, String> {
        let key = if self.model.has_free_dims() { ANY_SIZE } else { batch };
        let mut plans = self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(plan) = plans.get(&key) {
            return Ok(Arc::clone(plan));
        }
        let plan = no_panic(|| self.make_plan(key))?;
        plans.insert(key, Arc::clone(&plan));
        Ok(plan)
    }

    fn make_plan(&self, key: usize) -> TractResult<Plan> {
        self.sized(key)?.into_optimized()?.into_runnable()
    }

    /// The model with the sizes of its inputs.
    fn sized(&self, key: usize) -> TractResult<InferenceModel> {
        let mut model = self.template.clone();
        for (number, spec) in self.model.inputs.iter().enumerate() {
            let dims: TVec<TDim> = (0..spec.dims.len()).map(|dim| self.size(&model, number, dim, key)).collect();
            model.set_input_fact(number, InferenceFact::dt_shape(datum_type(spec.dtype)?, dims))?;
        }
        Ok(model)
    }

    /// One dimension of one input: as in the file, the batch size, or a symbol (the model's own where it has a name).
    fn size(&self, model: &InferenceModel, input: usize, dim: usize, key: usize) -> TDim {
        let fixed = self.model.inputs[input].dims[dim];
        if let Some(fixed) = fixed {
            return TDim::from(i64::from(fixed));
        }
        if self.model.batching.is_err() && dim == 0 {
            return TDim::from(1);
        }
        if key != ANY_SIZE {
            return TDim::from(key as i64);
        }
        let symbol = match (&self.model.symbols[input][dim], dim) {
            // Free in every input but named in some only: the batch is one size all the same.
            (_, 0) => "batch_of_samples".to_owned(),
            // Plain names only; an expression is a size of its own.
            (Some(name), _) if name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') => name.clone(),
            // A sum of such names, as caches have it: the past and what is new.
            (Some(sum), _) if is_sum(sum) => {
                return sum.split('+').map(|name| TDim::from(model.symbols.sym(name.trim()))).sum();
            }
            _ => format!("free_{input}_{dim}"),
        };
        TDim::from(model.symbols.sym(&symbol))
    }
}

fn is_sum(text: &str) -> bool {
    let is_name = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    text.contains('+') && text.split('+').all(|name| is_name(name.trim()))
}

/// tract answers some malformed models, and some values (an index out of range), with a panic. Nothing that a panic
/// could leave half done is used again: models under construction are dropped, and every run has a state of its own.
fn no_panic<T>(body: impl FnOnce() -> TractResult<T>) -> Result<T, String> {
    match contained(body) {
        Ok(result) => result.map_err(|error| format!("{error:#}")),
        Err(text) => Err(format!("tract panicked: {text}")),
    }
}

struct Runner {
    shared: Arc<Shared>,
}

impl Session for Runner {
    fn sizes(&self) -> Sizes {
        let most = self.shared.max_batch;
        if self.shared.model.has_free_dims() { Sizes::UpTo(most) } else { Sizes::PowersOfTwoUpTo(most) }
    }

    fn run(&mut self, inputs: &[BatchInput<'_>]) -> Result<Vec<BatchOutput>, String> {
        let first = inputs.first().and_then(|input| input.dims.first());
        let batch = if self.shared.model.batching.is_ok() { first.copied().unwrap_or(1) } else { 1 };
        let plan = self.shared.plan(batch)?;
        no_panic(|| {
            let outputs = plan.run(inputs.iter().map(tensor).collect::<TractResult<_>>()?)?;
            self.shared.model.outputs.iter().zip(&outputs).map(|(spec, value)| output(spec.dtype, value)).collect()
        })
    }
}

fn tensor(input: &BatchInput<'_>) -> TractResult<TValue> {
    let mut tensor = Tensor::zero_dt(datum_type(input.dtype)?, &input.dims)?;
    let mut tail = tensor.as_bytes_mut();
    for part in &input.parts {
        let (place, after) = tail.split_at_mut(part.len());
        place.copy_from_slice(part);
        tail = after;
    }
    if input.dtype == DType::Bool {
        // Anything but 0 and 1 in a Rust bool is undefined behaviour.
        tensor.as_bytes_mut().iter_mut().for_each(|byte| *byte = u8::from(*byte != 0));
    }
    Ok(tensor.into())
}

fn output(dtype: DType, value: &TValue) -> TractResult<BatchOutput> {
    // tract computes with sizes in a type of its own and hands that out where a model returns a shape.
    let tensor = value.cast_to_dt(datum_type(dtype)?)?;
    Ok(BatchOutput { dtype, dims: tensor.shape().to_vec(), data: tensor.as_bytes().to_vec() })
}

fn datum_type(dtype: DType) -> TractResult<DatumType> {
    Ok(match dtype {
        DType::U8 => DatumType::U8,
        DType::I8 => DatumType::I8,
        DType::U16 => DatumType::U16,
        DType::I16 => DatumType::I16,
        DType::U32 => DatumType::U32,
        DType::I32 => DatumType::I32,
        DType::U64 => DatumType::U64,
        DType::I64 => DatumType::I64,
        DType::F16 => DatumType::F16,
        DType::F32 => DatumType::F32,
        DType::F64 => DatumType::F64,
        DType::Bool => DatumType::Bool,
        DType::Bf16 | DType::F8E4M3 | DType::F8E5M2 | DType::U4 | DType::I4 => {
            let reason = format!("tract does not compute with {dtype}");
            return Err(std::io::Error::new(std::io::ErrorKind::Unsupported, reason).into());
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_has_the_version_that_is_built_in() {
        let lock = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.lock")).unwrap();
        let version = NAME.strip_prefix("tract ").unwrap();
        assert!(lock.contains(&format!("name = \"tract-onnx\"\nversion = \"{version}\"")), "{NAME} is out of date");
    }
}
