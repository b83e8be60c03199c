//! Memory that one run of a model with free sizes takes, known from the shapes of its inputs before it runs.
//!
//! Where tract can read the model, it knows every tensor's size as an expression of the free ones. Going through the
//! run in its order, from the first use of each tensor to the last, gives the most that is in memory at one time. That
//! is doubled, for what operators need inside and for what allocators add.
//!
//! Two kinds of models are only estimated. Where a size depends on values (as of `NonZero`), its tensor counts as much
//! as the tensors that it is made of. Where tract cannot read the model at all, every element of an input counts
//! [`BYTES_PER_ID`] or [`BYTES_PER_NUMBER`].

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use lon_sut::tensor::DType;
use tract_onnx::prelude::{Graph, Symbol, TDim, TypedFact, TypedOp};

/// Bytes that an element of whole numbers counts when nothing else is known: an id becomes a row of a few thousand
/// numbers.
const BYTES_PER_ID: f64 = 16_384.0;
/// Bytes that an element of fractions, bytes or truth values counts: a pixel becomes some dozens of numbers.
const BYTES_PER_NUMBER: f64 = 256.0;
/// Operators need memory inside, and allocators round up.
const FACTOR: f64 = 2.0;
/// The most shapes whose result is remembered.
const MAX_KNOWN: usize = 256;

/// One input of a run: its type and its sizes, the batch first when it has a batch dimension.
pub(super) type Input<'d> = (DType, &'d [usize]);

/// The sizes of all inputs, one after the other, with their ranks before them.
type Shapes = Vec<usize>;

/// Memory that runs of one model take.
pub(super) struct Footprint {
    /// The sizes of the model's inputs, of which some are symbols. None: tract cannot read the model.
    plan: Option<RunPlan>,
    /// Bytes for the shapes that came before: shapes come again and again.
    cache: Mutex<HashMap<Shapes, u64>>,
}

struct RunPlan {
    inputs: Vec<Vec<TDim>>,
    steps: Vec<Step>,
}

/// One operator of a run, in the order of the run.
struct Step {
    /// The bytes of each of its outputs.
    outputs: Vec<TDim>,
    /// The numbers of the steps whose outputs it takes.
    takes: Vec<usize>,
    /// The numbers of the steps whose outputs nobody takes any more afterwards.
    frees: Vec<usize>,
}

impl Footprint {
    /// The footprint of a model of which nothing is known but its inputs.
    pub(super) fn unknown() -> Footprint {
        Footprint { plan: None, cache: Mutex::default() }
    }

    /// The footprint of a model whose nodes run in this order.
    pub(super) fn of(model: &Graph<TypedFact, Box<dyn TypedOp>>, order: &[usize]) -> Footprint {
        let plan = RunPlan::of(model, order);
        Footprint { plan, cache: Mutex::default() }
    }

    /// Returns true when sizes of tensors are known, not only those of the inputs.
    pub(super) fn is_known(&self) -> bool {
        self.plan.is_some()
    }

    /// The bytes of memory that a run with these inputs takes at most, as far as can be known.
    pub(super) fn bytes(&self, inputs: &[Input<'_>]) -> u64 {
        let shapes = inputs.iter().flat_map(|(_, dims)| std::iter::once(dims.len()).chain(dims.iter().copied()));
        let shapes: Shapes = shapes.collect();
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(&bytes) = cache.get(&shapes) {
            return bytes;
        }
        let bytes = match &self.plan {
            Some(plan) => FACTOR * plan.most(inputs),
            None => inputs.iter().copied().map(by_elements).sum(),
        };
        // Beyond 64 bits it becomes the largest number.
        let bytes = bytes as u64;
        if cache.len() >= MAX_KNOWN {
            cache.clear();
        }
        cache.insert(shapes, bytes);
        bytes
    }
}

fn by_elements((dtype, dims): Input<'_>) -> f64 {
    let elements: f64 = dims.iter().map(|&dim| dim as f64).product();
    let is_id = matches!(dtype, DType::U16 | DType::I16 | DType::U32 | DType::I32 | DType::U64 | DType::I64);
    elements * if is_id { BYTES_PER_ID } else { BYTES_PER_NUMBER }
}

impl RunPlan {
    fn of(model: &Graph<TypedFact, Box<dyn TypedOp>>, order: &[usize]) -> Option<RunPlan> {
        let outlets = model.input_outlets().ok()?;
        let inputs = outlets.iter().map(|outlet| Some(model.outlet_fact(*outlet).ok()?.shape.to_tvec().to_vec()));
        let inputs = inputs.collect::<Option<Vec<_>>>()?;
        let step_of: HashMap<usize, usize> = order.iter().enumerate().map(|(step, &node)| (node, step)).collect();
        let mut steps = Vec::with_capacity(order.len());
        let mut last_use: HashMap<usize, usize> = HashMap::new();
        for (step, &number) in order.iter().enumerate() {
            let node = model.node(number);
            let outputs = node.outputs.iter().map(|output| output.fact.mem_size()).collect();
            let takes: Vec<usize> =
                node.inputs.iter().filter_map(|outlet| step_of.get(&outlet.node).copied()).collect();
            last_use.extend(takes.iter().map(|&taken| (taken, step)));
            steps.push(Step { outputs, takes, frees: Vec::new() });
        }
        // The outputs that the model answers with stay in memory.
        for outlet in model.output_outlets().ok()? {
            step_of.get(&outlet.node).map(|step| last_use.remove(step));
        }
        for (freed, step) in last_use {
            steps[step].frees.push(freed);
        }
        Some(RunPlan { inputs, steps })
    }

    /// The most bytes of all tensors that are in memory at one time.
    fn most(&self, inputs: &[Input<'_>]) -> f64 {
        let mut sizes: HashMap<&Symbol, f64> = HashMap::new();
        for (dims, (_, input_dims)) in self.inputs.iter().zip(inputs) {
            for (dim, &size) in dims.iter().zip(*input_dims) {
                if let TDim::Sym(symbol) = dim {
                    let largest = sizes.entry(symbol).or_default();
                    *largest = largest.max(size as f64);
                }
            }
        }
        let mut bytes: Vec<f64> = Vec::with_capacity(self.steps.len());
        let (mut now, mut most) = (0.0, 0.0_f64);
        for step in &self.steps {
            let taken = || step.takes.iter().map(|&taken| bytes[taken]).sum();
            let step_bytes = step.outputs.iter().map(|size| value(size, &sizes).unwrap_or_else(taken).max(0.0)).sum();
            bytes.push(step_bytes);
            now += step_bytes;
            most = most.max(now);
            now -= step.frees.iter().map(|&freed| bytes[freed]).sum::<f64>();
        }
        most
    }
}

/// The value of an expression; none when a size in it is not known.
fn value(dim: &TDim, sizes: &HashMap<&Symbol, f64>) -> Option<f64> {
    let fold = |terms: &[TDim], start: f64, join: fn(f64, f64) -> f64| {
        terms.iter().try_fold(start, |all, term| Some(join(all, value(term, sizes)?)))
    };
    let both = |a: &TDim, b: &TDim| Some((value(a, sizes)?, value(b, sizes)?));
    match dim {
        TDim::Val(size) => Some(*size as f64),
        TDim::Sym(symbol) => sizes.get(symbol).copied(),
        TDim::Add(terms) => fold(terms, 0.0, |a, b| a + b),
        TDim::Mul(terms) => fold(terms, 1.0, |a, b| a * b),
        TDim::MulInt(factor, term) => Some(*factor as f64 * value(term, sizes)?),
        TDim::Div(term, by) => Some((value(term, sizes)? / *by as f64).floor()),
        TDim::Broadcast(terms) | TDim::Max(terms) => fold(terms, f64::MIN, f64::max),
        TDim::Min(terms) => fold(terms, f64::MAX, f64::min),
        TDim::Ge(a, b) => both(a, b).map(|(a, b)| f64::from(u8::from(a >= b))),
        TDim::Eq(a, b) => both(a, b).map(|(a, b)| f64::from(u8::from(a == b))),
    }
}
