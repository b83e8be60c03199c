//! From samples to batches, and from batches to answers: the worker of both engines.
//!
//! The samples of a batch that have the same shape run together, as one tensor per input. Samples differ in shape only
//! where the model leaves a size free; those run in groups. Nothing is padded.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use lon_sut::backend::{Aside, BackendOptions, BackendSample, InferError, Worker};
use lon_sut::pipeline::post::{self, Postprocess};
use lon_sut::tensor::{DType, Dims, Tensor, TensorSpec};

use super::engine::{BatchInput, Session, Sizes, trying};
use super::footprint::Footprint;
use super::model::{InputOrder, Model};
use super::output_sizes;
use super::trial_samples::{self, MAX_BYTES};

/// Memory limit of one run of a model with free sizes. Samples decide how much a run takes, so it is checked before the
/// engine is asked.
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

    /// Checks that a run with these inputs takes no more memory than it may.
    ///
    /// # Errors
    /// About how many bytes it takes.
    pub(super) fn check(&self, inputs: &[BatchInput<'_>]) -> Result<(), u64> {
        let shapes: Vec<_> = inputs.iter().map(|input| (input.dtype, &input.dims[..])).collect();
        let needed = self.footprint.bytes(&shapes);
        if needed <= self.max_bytes { Ok(()) } else { Err(needed) }
    }
}

/// The rules by which answers are made of outputs.
#[derive(Clone, Copy, Debug)]
pub(super) struct AnswerRules {
    postprocess: Postprocess,
    allows_empty: bool,
}

impl AnswerRules {
    pub(super) fn of(options: &BackendOptions) -> AnswerRules {
        AnswerRules { postprocess: options.postprocess, allows_empty: options.allows_empty }
    }
}

pub(super) struct OnnxWorker {
    model: Model,
    /// The order in which a sample has the inputs of the model.
    order: InputOrder,
    session: Box<dyn Session>,
    engine: String,
    rules: AnswerRules,
    /// Memory limit of a run. `None` where all sizes are known: then the warm-up has shown how much a run takes.
    bound: Option<Bound>,
    /// Lets several samples share a run when true.
    shares_runs: bool,
    /// True where nothing that was made up has an answer, so that the first sample shows whether the model runs.
    is_untried: bool,
    aside: Aside,
}

/// Why a batch has no answers.
enum Fault {
    /// The engine failed, in its own words. Values may be why.
    Engine(String),
    /// Outputs are not what they should be, whatever the values.
    Form(String),
}

impl Fault {
    fn reason(self) -> String {
        match self {
            Fault::Engine(reason) | Fault::Form(reason) => reason,
        }
    }
}

/// The free sizes with which a model is tried before the first sample: a short text, a small image.
const SIZES_TO_TRY: [u32; 3] = [5, 16, 64];

impl OnnxWorker {
    pub(super) fn new(
        model: Model,
        order: InputOrder,
        session: Box<dyn Session>,
        engine: &str,
        rules: AnswerRules,
        bound: Option<Bound>,
        shares_runs: bool,
    ) -> OnnxWorker {
        let (engine, is_untried, aside) = (engine.to_owned(), false, Aside::default());
        OnnxWorker { model, order, session, engine, rules, bound, shares_runs, is_untried, aside }
    }

    /// The batch sizes that are run.
    fn sizes(&self) -> Sizes {
        if self.shares_runs { self.session.sizes() } else { Sizes::UpTo(NonZeroUsize::MIN) }
    }

    /// Runs zeros in the sizes that will be asked for; ones where zeros have no answer, since they are no divisors and
    /// no sizes of an image. That neither has one is no error: a sample may have.
    ///
    /// # Errors
    /// The batch size that failed, and the reason.
    pub(super) fn warm_up(&mut self) -> Result<(), (usize, String)> {
        let failure = |(batch, fault): (usize, Fault)| (batch, fault.reason());
        let Some(zeros) = self.filled(trial_samples::zero, None) else { return self.try_sizes() };
        let of_zeros = match trying(|| self.warm_with(&zeros)) {
            Err((1, Fault::Engine(reason))) => reason,
            Err((1, Fault::Form(of_zeros))) => return self.try_form_of_ones(of_zeros),
            warm => return warm.map_err(failure),
        };
        let Some(ones) = self.filled(trial_samples::one, None) else { return Ok(()) };
        match trying(|| self.warm_with(&ones)) {
            Err((1, Fault::Engine(of_ones))) => {
                self.is_untried = true;
                tracing::warn!(
                    of_zeros,
                    of_ones,
                    "neither zeros nor ones have an answer: the first sample shows whether the model runs"
                );
                Ok(())
            }
            warm => {
                tracing::warn!(of_zeros, "an input of zeros has no answer, and one of ones was tried");
                warm.map_err(failure)
            }
        }
    }

    /// Decides about a model whose outputs for zeros are not as its file says. Sizes that follow from what an input
    /// holds are others for ones: the file may be right for samples. Equal ones are wrong in the file.
    ///
    /// # Errors
    /// The batch size, and which output is another one than the file says.
    fn try_form_of_ones(&mut self, of_zeros: String) -> Result<(), (usize, String)> {
        let ones = self.filled(trial_samples::one, None);
        let of_ones = ones.map(|ones| trying(|| self.warm_with(&ones)));
        match of_ones {
            None => Err((1, of_zeros)),
            Some(Err((_, Fault::Form(of_ones)))) if of_ones == of_zeros => Err((1, of_zeros)),
            Some(_) => {
                tracing::warn!(of_zeros, "sizes of an output follow from the inputs: each answer is checked");
                Ok(())
            }
        }
    }

    fn warm_with(&mut self, sample: &BackendSample) -> Result<(), (usize, Fault)> {
        for batch in self.sizes().to_warm() {
            let (answers, _) = self.run(&vec![sample; batch]).map_err(|fault| (batch, fault))?;
            // Outputs may begin with the number of objects found, not with the batch; in zeros nothing may be found.
            match answers.iter().any(|answer| self.is_nothing(answer)) {
                true if self.has_no_elements() => return Err((batch, Fault::Form(self.nothing()))),
                true => tracing::warn!(reason = self.nothing(), "what was made up for the start has no answer"),
                false => {}
            }
        }
        Ok(())
    }

    /// Runs a model that leaves sizes free once, with the first sizes that it runs with. No size is known to take, so
    /// only outputs that are not as the file says are an error.
    ///
    /// # Errors
    /// The batch size, and which output is another one.
    fn try_sizes(&mut self) -> Result<(), (usize, String)> {
        for size in SIZES_TO_TRY {
            let Some(sample) = self.filled(trial_samples::zero, Some(size)) else { continue };
            if self.bound.as_ref().is_some_and(|bound| bound.check(&self.inputs(&[&sample])).is_err()) {
                continue;
            }
            match trying(|| self.run(&[&sample])) {
                Err(Fault::Form(reason)) => return Err((1, reason)),
                Err(Fault::Engine(reason)) => tracing::debug!(size, reason, "the model does not run with these sizes"),
                Ok(_) => break,
            }
        }
        Ok(())
    }

    /// Returns true when these bytes are no answer. An answer of rows above a threshold may have no row.
    fn is_nothing(&self, answer: &Bytes) -> bool {
        answer.is_empty() && !self.rules.allows_empty && !self.rules.postprocess.may_be_empty()
    }

    /// Returns true when no answer can ever have an element.
    fn has_no_elements(&self) -> bool {
        self.model.outputs.iter().all(|spec| spec.dims.contains(&Some(0)))
    }

    fn nothing(&self) -> String {
        let names: Vec<String> = self.model.outputs.iter().map(|spec| format!("'{spec}'")).collect();
        let (names, have) = match &names[..] {
            [one] => (format!("the output {one}"), "has"),
            all => (format!("the outputs {}", all.join(", ")), "have"),
        };
        let remedy = if self.has_no_elements() { "" } else { " (--allow-empty takes it for nothing found)" };
        format!("{names} {have} no elements: the answer is empty{remedy}")
    }

    /// A sample of which every element is `element`, with this size wherever the model leaves one free.
    fn filled(&self, element: fn(DType) -> Vec<u8>, free: Option<u32>) -> Option<BackendSample> {
        let tensor = |spec: &TensorSpec| {
            let dims = spec.own_dims().iter().map(|dim| dim.or(free)).collect::<Option<Vec<u32>>>()?;
            let elements = Dims::new(&dims)?.elements()?;
            spec.dtype.bytes_of(elements).filter(|&len| len <= MAX_BYTES as u64)?;
            Tensor::new(spec.dtype, &dims, element(spec.dtype).repeat(elements as usize).into()).ok()
        };
        let tensors = self.order.signature.iter().map(tensor).collect::<Option<_>>()?;
        Some(BackendSample { bytes: Bytes::new(), tensors })
    }

    fn inputs<'s>(&self, batch: &[&'s BackendSample]) -> Vec<BatchInput<'s>> {
        (0..self.model.inputs.len()).map(|input| self.gather(input, batch)).collect()
    }

    /// Runs samples that all fit and have the same shape. Returns their answers, and which of them hold a NaN.
    fn run(&mut self, batch: &[&BackendSample]) -> Result<(Vec<Bytes>, Vec<bool>), Fault> {
        let inputs = self.inputs(batch);
        let outputs = self.session.run(&inputs).map_err(Fault::Engine)?;
        output_sizes::check(&self.model.outputs, &outputs, batch.len(), self.shares_runs).map_err(Fault::Form)?;
        let began = Instant::now();
        let mut nan = vec![false; batch.len()];
        outputs.iter().for_each(|output| post::mark_nan(output, &mut nan));
        let answers = self.rules.postprocess.answers(outputs, &self.model.outputs, batch.len());
        let answers = answers.map_err(Fault::Form)?;
        self.aside.postprocess += began.elapsed();
        Ok((answers, nan))
    }

    fn gather<'s>(&self, input: usize, batch: &[&'s BackendSample]) -> BatchInput<'s> {
        let spec = &self.model.inputs[input];
        let tensors = batch.iter().filter_map(|sample| sample.tensors.get(self.order.places[input]));
        let own = tensors.clone().next().and_then(|tensor| spec.sample_dims(tensor)).unwrap_or_default();
        let leading = spec.has_batch_dim().then_some(batch.len());
        let dims = leading.into_iter().chain(own.iter().map(|&dim| dim as usize)).collect();
        BatchInput { dtype: spec.dtype, dims, parts: tensors.map(|tensor| &tensor.data()[..]).collect() }
    }

    /// Returns the number of samples of a group that run together, so that their run takes no more memory than it may:
    /// one at least.
    ///
    /// # Errors
    /// One alone would take more.
    fn together(&self, batch: &[BackendSample], group: &[usize]) -> Result<usize, InferError> {
        let mut count = self.sizes().largest(group.len());
        let Some(bound) = &self.bound else { return Ok(count) };
        loop {
            let samples: Vec<&BackendSample> = group[..count].iter().map(|&number| &batch[number]).collect();
            match bound.check(&self.inputs(&samples)) {
                Ok(()) => return Ok(count),
                Err(needed) if count == 1 => {
                    let shapes = samples[0].tensors.iter().map(Tensor::to_string).collect::<Vec<_>>().join(", ");
                    return Err(InferError::Memory { shapes, needed, max_bytes: bound.max_bytes });
                }
                Err(_) => count = self.sizes().largest(count / 2),
            }
        }
    }

    /// Returns true when two samples that fit can be in one run.
    fn same_shape(&self, one: &BackendSample, other: &BackendSample) -> bool {
        let dims = |sample: &BackendSample| {
            let pairs = self.order.signature.iter().zip(&sample.tensors);
            pairs.map(|(spec, tensor)| spec.sample_dims(tensor).map(<[u32]>::to_vec)).collect::<Vec<_>>()
        };
        !self.model.has_free_dims() || dims(one) == dims(other)
    }

    /// Says what came of the first sample of a model that nothing that was made up could try.
    fn tell_of_first(&mut self, answers: &[Answer]) {
        let tried = answers.iter().find(|answer| !matches!(answer, Err(InferError::Mismatch(_))));
        let Some(answer) = tried else { return };
        self.is_untried = false;
        match answer {
            Ok(_) => tracing::info!("the model runs on the first sample"),
            Err(error) => tracing::warn!(%error, "the model does not run on the first sample either"),
        }
    }

    /// Runs a group, in as few batches as the session allows, and files the answers under the samples' numbers.
    fn run_group(&mut self, batch: &[BackendSample], mut group: &[usize], answers: &mut [Option<Answer>]) {
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
            let samples: Vec<&BackendSample> = now.iter().map(|&number| &batch[number]).collect();
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
                Err(fault) => {
                    let (engine, batch, reason) = (self.engine.clone(), now.len(), fault.reason());
                    let error = InferError::Engine { engine, batch, reason };
                    now.iter().for_each(|&number| answers[number] = Some(Err(error.clone())));
                }
            }
            group = later;
        }
    }
}

type Answer = Result<Bytes, InferError>;

impl Worker for OnnxWorker {
    fn infer(&mut self, batch: &[BackendSample]) -> Vec<Answer> {
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
        let answers: Vec<Answer> = answers.into_iter().flatten().collect();
        if self.is_untried {
            self.tell_of_first(&answers);
        }
        answers
    }

    fn aside(&self) -> &Aside {
        &self.aside
    }
}
