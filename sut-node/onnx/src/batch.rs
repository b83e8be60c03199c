//! From samples to batches, and from batches to answers: the worker of both engines.
//!
//! The samples of a batch that have the same shape run together, as one tensor per input. Samples differ in shape only
//! where the model leaves a size free; those run in groups. Nothing is padded.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use lon_sut::backend::{Aside, InferError, Sample, Worker};
use lon_sut::pipeline::post::{self, Postprocess};
use lon_sut::tensor::{Dims, Tensor, TensorSpec};

use super::engine::{BatchInput, Session, Sizes, trying};
use super::footprint::Footprint;
use super::made_up::{MAX_BYTES, MadeUp, NO_ZEROS};
use super::model::{InputOrder, Model};

/// How much memory one run of a model with free sizes may take. Samples decide what it takes, so it is checked before
/// the engine is asked.
pub(super) struct Bound {
    footprint: Arc<Footprint>,
    max_bytes: u64,
}

impl Bound {
    pub(super) fn new(footprint: Arc<Footprint>, max_bytes: u64) -> Bound {
        let kind = if footprint.is_known() { "its tensors" } else { "its inputs alone: the others are not known" };
        tracing::debug!(max_bytes, estimated_from = kind, "runs of free sizes are bounded");
        Bound { footprint, max_bytes }
    }

    /// Whether a run with these inputs takes no more memory than it may.
    ///
    /// # Errors
    /// About how many bytes it takes.
    pub(super) fn check(&self, inputs: &[BatchInput<'_>]) -> Result<(), u64> {
        let shapes: Vec<_> = inputs.iter().map(|input| (input.dtype, &input.dims[..])).collect();
        let needed = self.footprint.bytes(&shapes);
        if needed <= self.max_bytes { Ok(()) } else { Err(needed) }
    }
}

pub(super) struct OnnxWorker {
    model: Model,
    /// The order in which a sample has the inputs of the model.
    order: InputOrder,
    session: Box<dyn Session>,
    engine: String,
    postprocess: Postprocess,
    /// None where all sizes are known: then the warm-up has shown what a run takes.
    bound: Option<Bound>,
    /// Whether several samples may share a run.
    shares_runs: bool,
    aside: Aside,
}

impl OnnxWorker {
    pub(super) fn new(
        model: Model,
        order: InputOrder,
        session: Box<dyn Session>,
        engine: &str,
        postprocess: Postprocess,
        bound: Option<Bound>,
        shares_runs: bool,
    ) -> OnnxWorker {
        let engine = engine.to_owned();
        OnnxWorker { model, order, session, engine, postprocess, bound, shares_runs, aside: Aside::default() }
    }

    /// The batch sizes that are run.
    fn sizes(&self) -> Sizes {
        if self.shares_runs { self.session.sizes() } else { Sizes::UpTo(NonZeroUsize::MIN) }
    }

    /// Runs zeros in the sizes that will be asked for. A model with free sizes besides the batch is planned but not
    /// run: no size is known to take.
    ///
    /// # Errors
    /// The batch size that failed, and the reason.
    pub(super) fn warm_up(&mut self) -> Result<(), (usize, String)> {
        let Some(sample) = self.zeros() else { return Ok(()) };
        for batch in self.sizes().to_warm() {
            let (answers, _) = match self.run(&vec![&sample; batch]) {
                Ok(run) => run,
                // Zeros are no divisors, and no sizes of an image either.
                Err(reason) if batch == 1 && self.runs_without_zeros() => {
                    tracing::warn!(reason, "an input of zeros has no answer, and others have one");
                    return Ok(());
                }
                Err(reason) => return Err((batch, reason)),
            };
            // Outputs may begin with the number of objects found, not with the batch; in zeros nothing may be found.
            match answers.iter().any(|answer| self.is_nothing(answer)) {
                true if self.has_no_elements() => return Err((batch, self.nothing())),
                true => tracing::warn!(reason = self.nothing(), "an input of zeros has no answer"),
                false => {}
            }
        }
        Ok(())
    }

    fn runs_without_zeros(&mut self) -> bool {
        let made_up = MadeUp::draw(&self.model.inputs, NO_ZEROS, 1, 0);
        made_up.is_some_and(|sample| trying(|| self.session.run(&MadeUp::batch(&[&sample]))).is_ok())
    }

    /// Whether these bytes are no answer. An answer of rows above a threshold may have no row.
    fn is_nothing(&self, answer: &Bytes) -> bool {
        answer.is_empty() && !self.postprocess.may_be_empty()
    }

    /// Whether no answer can ever have an element.
    fn has_no_elements(&self) -> bool {
        self.model.outputs.iter().all(|spec| spec.dims.contains(&Some(0)))
    }

    fn nothing(&self) -> String {
        let names: Vec<String> = self.model.outputs.iter().map(|spec| format!("'{spec}'")).collect();
        match &names[..] {
            [one] => format!("the output {one} has no elements: the answer is empty"),
            all => format!("the outputs {} have no elements: the answer is empty", all.join(", ")),
        }
    }

    fn zeros(&self) -> Option<Sample> {
        let tensor = |spec: &TensorSpec| {
            let own = spec.own_dims();
            let dims = own.iter().copied().collect::<Option<Vec<u32>>>()?;
            let elements = Dims::new(&dims)?.elements()?;
            let len = spec.dtype.bytes_of(elements).filter(|&len| len <= MAX_BYTES as u64)?;
            Tensor::new(spec.dtype, &dims, vec![0; len as usize].into()).ok()
        };
        let tensors = self.order.signature.iter().map(tensor).collect::<Option<_>>()?;
        Some(Sample { bytes: Bytes::new(), tensors })
    }

    /// Runs samples that all fit and have the same shape. Returns their answers, and which of them hold a NaN.
    fn run(&mut self, batch: &[&Sample]) -> Result<(Vec<Bytes>, Vec<bool>), String> {
        let inputs: Vec<BatchInput<'_>> = (0..self.model.inputs.len()).map(|input| self.gather(input, batch)).collect();
        let outputs = self.session.run(&inputs)?;
        if outputs.len() != self.model.outputs.len() {
            return Err(format!("{} outputs came, {} were due", outputs.len(), self.model.outputs.len()));
        }
        let began = Instant::now();
        let mut nan = vec![false; batch.len()];
        outputs.iter().for_each(|output| post::mark_nan(output, &mut nan));
        let answers = self.postprocess.answers(outputs, &self.model.outputs, batch.len())?;
        self.aside.postprocess += began.elapsed();
        Ok((answers, nan))
    }

    fn gather<'s>(&self, input: usize, batch: &[&'s Sample]) -> BatchInput<'s> {
        let spec = &self.model.inputs[input];
        let tensors = batch.iter().filter_map(|sample| sample.tensors.get(self.order.places[input]));
        let own = tensors.clone().next().and_then(|tensor| spec.sample_dims(tensor)).unwrap_or_default();
        let leading = spec.has_batch_dim().then_some(batch.len());
        let dims = leading.into_iter().chain(own.iter().map(|&dim| dim as usize)).collect();
        BatchInput { dtype: spec.dtype, dims, parts: tensors.map(|tensor| &tensor.data()[..]).collect() }
    }

    /// How many samples of a group run together, so that their run takes no more memory than it may: one at least.
    ///
    /// # Errors
    /// One alone would take more.
    fn together(&self, batch: &[Sample], group: &[usize]) -> Result<usize, InferError> {
        let mut count = self.sizes().largest(group.len());
        let Some(bound) = &self.bound else { return Ok(count) };
        loop {
            let samples: Vec<&Sample> = group[..count].iter().map(|&number| &batch[number]).collect();
            let inputs: Vec<BatchInput<'_>> =
                (0..self.model.inputs.len()).map(|input| self.gather(input, &samples)).collect();
            match bound.check(&inputs) {
                Ok(()) => return Ok(count),
                Err(needed) if count == 1 => {
                    let shapes = samples[0].tensors.iter().map(Tensor::to_string).collect::<Vec<_>>().join(", ");
                    return Err(InferError::Memory { shapes, needed, max_bytes: bound.max_bytes });
                }
                Err(_) => count = self.sizes().largest(count / 2),
            }
        }
    }

    /// Whether two samples that fit can be in one run.
    fn same_shape(&self, one: &Sample, other: &Sample) -> bool {
        let dims = |sample: &Sample| {
            let pairs = self.order.signature.iter().zip(&sample.tensors);
            pairs.map(|(spec, tensor)| spec.sample_dims(tensor).map(<[u32]>::to_vec)).collect::<Vec<_>>()
        };
        !self.model.has_free_dims() || dims(one) == dims(other)
    }

    /// Runs a group, in as few batches as the session allows, and files the answers under the samples' numbers.
    fn run_group(&mut self, batch: &[Sample], mut group: &[usize], answers: &mut [Option<Answer>]) {
        while !group.is_empty() {
            let count = match self.together(batch, group) {
                Ok(count) => count,
                // All of them have the same shape.
                Err(error) => {
                    group.iter().for_each(|&number| answers[number] = Some(Err(error.clone())));
                    return;
                }
            };
            let (now, later) = group.split_at(count);
            let samples: Vec<&Sample> = now.iter().map(|&number| &batch[number]).collect();
            match self.run(&samples) {
                Ok((results, nan)) => {
                    for (&number, bytes) in now.iter().zip(results) {
                        answers[number] = Some(if self.is_nothing(&bytes) {
                            let (engine, reason) = (self.engine.clone(), self.nothing());
                            Err(InferError::Failed { engine, reason })
                        } else {
                            Ok(bytes)
                        });
                    }
                    self.aside.nan.extend(now.iter().zip(nan).filter_map(|(&number, nan)| nan.then_some(number)));
                }
                // Values can make a run fail too (an index out of range): only the sample that has them shall fail.
                Err(_) if now.len() > 1 => now.iter().for_each(|&number| self.run_group(batch, &[number], answers)),
                Err(reason) => {
                    let error = InferError::Engine { engine: self.engine.clone(), batch: now.len(), reason };
                    now.iter().for_each(|&number| answers[number] = Some(Err(error.clone())));
                }
            }
            group = later;
        }
    }
}

type Answer = Result<Bytes, InferError>;

impl Worker for OnnxWorker {
    fn infer(&mut self, batch: &[Sample]) -> Vec<Answer> {
        self.aside.postprocess = Duration::ZERO;
        self.aside.nan.clear();
        let mut answers: Vec<Option<Answer>> = vec![None; batch.len()];
        let mut groups: Vec<Vec<usize>> = Vec::new();
        for (number, sample) in batch.iter().enumerate() {
            if let Err(mismatch) = self.order.signature.accepts(&sample.tensors) {
                answers[number] = Some(Err(mismatch.into()));
                continue;
            }
            match groups.iter_mut().find(|group| self.same_shape(&batch[group[0]], sample)) {
                Some(group) => group.push(number),
                None => groups.push(vec![number]),
            }
        }
        for group in groups {
            self.run_group(batch, &group, &mut answers);
        }
        // Every sample was either refused or in a group.
        answers.into_iter().flatten().collect()
    }

    fn aside(&self) -> &Aside {
        &self.aside
    }
}
