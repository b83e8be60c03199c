//! Proof that samples may share a run. It uses samples that are made up, before the first real one comes.
//!
//! A model file says where a size is free, not what it counts. The leading dimension of a tensor may be time or the
//! objects that were found, and an operator may mix the samples of a batch. Shapes do not show that: a batch of eight
//! samples of eight steps looks the same with time first. So different samples run alone and together, in sizes of
//! batches that will be used, and in sizes of samples that equal those. Each must get the answer that it has alone.
//!
//! An engine may add in another order when there are more samples, so answers need not be equal bit by bit.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use tract_onnx::pb::ModelProto;

use super::batch::Bound;
use super::engine::{BatchOutput, Session, trying};
use super::model::Model;
use super::nodes::nodes;
use super::trial_samples::{MAX_BYTES, STYLES, Style, TrialSample};
use lon_sut::pipeline::post::floats;
use lon_sut::tensor::{DType, TensorSpec};

/// Number of different samples.
const SAMPLES: usize = 3;

/// Values that are tried for free sizes: a short text, an image, a second of sound. The first two with which the model
/// runs are used.
const USUAL_SIZES: [usize; 6] = [5, 16, 64, 224, 1_024, 16_000];

/// A model that takes longer for one sample is only tried in the smallest batch, so that a node starts in good time.
const SLOW: Duration = Duration::from_secs(1);

/// A model that takes longer for one sample is not timed: its node starts in good time.
const TIMED: Duration = Duration::from_millis(100);

/// From this factor on, a sample in a batch is called slower than a sample alone.
const SLOWER: f64 = 1.5;

/// Properties of a model's operators that matter for the proof.
#[derive(Clone, Debug)]
pub(super) struct Operators {
    /// One that makes as many rows as values ask for.
    sized_by_values: Option<String>,
    /// One that takes the scale of a quantisation from all that it gets.
    scales_by_values: Option<String>,
    /// Largest distance between the answers to a sample, as a part of the span of an output.
    tolerance: f64,
}

impl Operators {
    pub(super) fn of(proto: &ModelProto) -> Operators {
        let nodes = nodes(proto);
        let find = |is_meant: fn(&str) -> bool| nodes.iter().map(|node| &node.op_type).find(|op| is_meant(op)).cloned();
        let halves = [DType::F16, DType::Bf16].map(|dtype| i32::from(dtype.code()));
        let has_halves = proto.graph.iter().flat_map(|graph| &graph.initializer).any(|w| halves.contains(&w.data_type));
        // A value that is rounded to few bits can fall to either side.
        let rounds = has_halves || find(|op| op == "QuantizeLinear").is_some();
        Operators {
            sized_by_values: find(|op| matches!(op, "NonZero" | "NonMaxSuppression" | "Unique" | "Compress")),
            scales_by_values: find(|op| op.starts_with("DynamicQuantize")),
            tolerance: if rounds { 2e-2 } else { 1e-3 },
        }
    }
}

/// Why samples have to run one by one.
#[derive(Debug)]
pub(super) struct Unproven {
    /// A clause that says what differs, or why that cannot be told.
    pub(super) reason: String,
    /// True when one sample alone has one row of each output; `None` when that is not known.
    pub(super) has_one_row: Option<bool>,
}

/// A batch in which a sample takes longer than alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct SlowBatch {
    /// Number of samples in the batch.
    pub(super) size: usize,
    /// The time of a sample in the batch over that of a sample alone.
    pub(super) factor: f64,
}

impl SlowBatch {
    /// Of a batch of so many samples. None: its samples are as fast as alone, or nearly.
    fn of(size: usize, together: Duration, alone: Duration) -> Option<SlowBatch> {
        let factor = together.as_secs_f64() / size as f64 / alone.as_secs_f64();
        (factor >= SLOWER).then_some(SlowBatch { size, factor })
    }
}

/// Proves that samples may share a run. Returns the largest batch where a sample in it takes longer than alone.
///
/// # Errors
/// It cannot be proved.
pub(super) fn prove(
    model: &Model,
    operators: &Operators,
    session: &mut dyn Session,
    bound: Option<&Bound>,
) -> Result<Option<SlowBatch>, Unproven> {
    if let (Some(odd), Some(op)) = (model.odd_name(None), &operators.sized_by_values) {
        let reason = format!("{odd}, and its {op} makes as many rows as values ask for");
        return Err(Unproven { reason, has_one_row: None });
    }
    let mut prover = Prover { model, operators, session, bound };
    trying(|| {
        let mut reason = None;
        for style in STYLES {
            let trials = prover.trials(style, &mut reason);
            if !trials.is_empty() {
                let proved = trials.iter().try_for_each(|trial| prover.run_together(trial));
                let has_one_row = Some(trials.iter().all(Trial::has_one_row));
                proved.map_err(|reason| Unproven { reason, has_one_row })?;
                return Ok(trials.first().and_then(|trial| prover.slow_batch(trial)));
            }
        }
        let reason = reason.unwrap_or_else(|| "no sample can be made up for it".to_owned());
        Err(Unproven { reason, has_one_row: None })
    })
}

struct Prover<'m> {
    model: &'m Model,
    operators: &'m Operators,
    session: &'m mut dyn Session,
    bound: Option<&'m Bound>,
}

/// Samples of one shape, and what they are answered alone.
struct Trial {
    samples: Vec<TrialSample>,
    alone: Vec<Vec<BatchOutput>>,
    /// The sizes of batches to run them in.
    batches: BTreeSet<usize>,
}

impl Trial {
    /// Returns true when each sample alone has one row of each output.
    fn has_one_row(&self) -> bool {
        self.alone.iter().flatten().all(|output| output.dims.first() == Some(&1))
    }
}

impl Prover<'_> {
    /// All trials of samples that the model runs alone; else the reason why it does not.
    fn trials(&mut self, style: Style, reason: &mut Option<String>) -> Vec<Trial> {
        let mut keep = |trial: Result<Trial, String>| trial.map_err(|why| _ = reason.get_or_insert(why)).ok();
        if !self.model.has_free_dims() {
            return keep(self.alone(style, 0)).into_iter().collect();
        }
        let usual = USUAL_SIZES.into_iter().filter_map(|size| keep(self.alone(style, size)));
        let mut trials: Vec<Trial> = usual.take(2).collect();
        // Sizes that equal the batch, for models that run with any size.
        for size in self.session.sizes().to_prove(std::iter::empty()) {
            trials.extend(self.alone(style, size).map(|trial| Trial { batches: [size].into(), ..trial }));
        }
        trials
    }

    /// Runs samples of this size one by one.
    fn alone(&mut self, style: Style, size: usize) -> Result<Trial, String> {
        let sample = |number| TrialSample::draw(&self.model.inputs, style, size, number);
        let samples =
            (0..SAMPLES).map(sample).collect::<Option<Vec<_>>>().ok_or("a sample of it is too large to try")?;
        let began = Instant::now();
        let alone = samples.iter().map(|sample| self.run(&[sample])).collect::<Result<Vec<_>, _>>();
        let alone = alone.map_err(|why| format!("it does not run on samples that are made up ({})", short(&why)))?;
        if alone.iter().all(|outputs| *outputs == alone[0]) {
            return Err("it answers different samples that are made up in the same way".to_owned());
        }
        let mut batches = self.session.sizes().to_prove(samples[0].sizes());
        if began.elapsed() > SLOW * SAMPLES as u32 {
            batches.retain(|batch| *batch == 2);
        }
        Ok(Trial { samples, alone, batches })
    }

    fn run(&mut self, samples: &[&TrialSample]) -> Result<Vec<BatchOutput>, String> {
        let batch = TrialSample::batch(samples);
        match self.bound.map_or(Ok(()), |bound| bound.check(&batch)) {
            Ok(()) => {}
            Err(needed) => return Err(format!("it takes about {needed} bytes of memory")),
        }
        let outputs = self.session.run(&batch)?;
        match outputs.len() == self.model.outputs.len() {
            true => Ok(outputs),
            false => Err(format!("{} outputs came, {} were due", outputs.len(), self.model.outputs.len())),
        }
    }

    /// Runs the samples of a trial together.
    ///
    /// # Errors
    /// A clause that says what differs.
    fn run_together(&mut self, trial: &Trial) -> Result<(), String> {
        for &size in &trial.batches {
            let numbers: Vec<usize> = (0..size).map(|at| at % SAMPLES).collect();
            let samples: Vec<&TrialSample> = numbers.iter().map(|&number| &trial.samples[number]).collect();
            let batch = TrialSample::batch(&samples);
            let is_large = samples[0].bytes().saturating_mul(size) > MAX_BYTES;
            // Batches of real samples are cut into what fits.
            if size > 2 && (is_large || self.bound.is_some_and(|bound| bound.check(&batch).is_err())) {
                continue;
            }
            let outputs = self.run(&samples);
            let outputs =
                outputs.map_err(|why| format!("it does not run {size} samples together ({})", short(&why)))?;
            for (at, spec) in self.model.outputs.iter().enumerate() {
                let alone: Vec<&BatchOutput> = numbers.iter().map(|&number| &trial.alone[number][at]).collect();
                self.same(spec, &alone, &outputs[at])?;
            }
        }
        Ok(())
    }

    /// Times the largest batch of a trial against a sample alone, the faster of two runs of each.
    fn slow_batch(&mut self, trial: &Trial) -> Option<SlowBatch> {
        let size = trial.batches.iter().copied().max().filter(|size| *size > 1)?;
        let together: Vec<&TrialSample> = (0..size).map(|at| &trial.samples[at % SAMPLES]).collect();
        let mut timed = |samples: &[&TrialSample]| {
            let began = Instant::now();
            self.run(samples).ok().map(|_| began.elapsed())
        };
        let alone = timed(&together[..1])?;
        if alone > TIMED {
            return None;
        }
        let alone = alone.min(timed(&together[..1])?);
        SlowBatch::of(size, timed(&together)?.min(timed(&together)?), alone)
    }

    /// Checks that an output of a batch is what each of its samples has alone.
    fn same(&self, spec: &TensorSpec, alone: &[&BatchOutput], together: &BatchOutput) -> Result<(), String> {
        if let Some(odd) = alone.iter().find(|output| output.dims.first() != Some(&1)) {
            let dims = &odd.dims;
            return Err(format!(
                "one sample makes '{spec}' of shape {dims:?}: its leading dimension does not count samples"
            ));
        }
        let own_dims = &together.dims[1.min(together.dims.len())..];
        let is_cut =
            together.dims.first() == Some(&alone.len()) && alone.iter().all(|output| output.dims[1..] == *own_dims);
        if !is_cut {
            let (count, dims) = (alone.len(), &together.dims);
            return Err(format!(
                "{count} samples together make '{spec}' of shape {dims:?}, which is not one row for each"
            ));
        }
        let alone: Vec<&[u8]> = alone.iter().map(|output| &output.data[..]).collect();
        let Some(share) = apart(together.dtype, &alone, &together.data, self.operators.tolerance) else {
            return Ok(());
        };
        let dependence =
            format!("'{spec}' of a sample depends on the samples beside it (by {share:.3} of what it spans)");
        Err(match &self.operators.scales_by_values {
            Some(op) => format!("the scale of its quantisation ({op}) spans the batch: {dependence}"),
            None => dependence,
        })
    }
}

/// Returns the distance between the parts of `together` and those of `alone`, which are equally many. For floating
/// point numbers it is the largest distance, as a part of the span of `alone`; else it is the part of the values that
/// differs. `None` when they are close enough.
pub(super) fn apart(dtype: DType, alone: &[&[u8]], together: &[u8], tolerance: f64) -> Option<f64> {
    let size = dtype.size();
    let all = || alone.iter().flat_map(move |data| data.chunks_exact(size));
    let Some(float_of) = floats(dtype) else {
        // The largest of values that are almost equal may be another one. That is rare.
        let differ = all().zip(together.chunks_exact(size)).filter(|(one, other)| one != other).count();
        return Some(differ as f64 / all().count().max(1) as f64).filter(|share| *share > 0.01);
    };
    let (least_span, mut tail, mut most) = (LEAST_SPAN * span(all().map(float_of)), together, 0.0_f64);
    for data in alone {
        let span = span(data.chunks_exact(size).map(float_of)).max(least_span);
        let (part, after) = tail.split_at(data.len().min(tail.len()));
        for (one, other) in data.chunks_exact(size).map(float_of).zip(part.chunks_exact(size).map(float_of)) {
            let distance = (one - other).abs() / span;
            let is_same = one == other || (one.is_nan() && other.is_nan());
            // A value that is no number is as far away as can be.
            most = most.max(if is_same {
                0.0
            } else if distance.is_nan() {
                f64::INFINITY
            } else {
                distance
            });
        }
        tail = after;
    }
    Some(most).filter(|share| *share > tolerance)
}

/// Values of one sample are held against what they span, and no less than this part of what those of all samples do:
/// there may be a single one.
const LEAST_SPAN: f64 = 0.05;

/// From the least to the most of these values. Those that are all alike have no span to speak of.
fn span(values: impl Iterator<Item = f64>) -> f64 {
    let values = values.filter(|value| value.is_finite());
    let (least, most) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), v| (least.min(v), most.max(v)));
    (most - least).max(0.01 * most.abs().max(least.abs()))
}

/// The beginning of what an engine says.
fn short(reason: &str) -> String {
    reason.lines().next().unwrap_or_default().chars().take(160).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_is_slow_where_its_samples_are_faster_alone() {
        let ms = Duration::from_millis;
        assert_eq!(SlowBatch::of(8, ms(8), ms(1)), None);
        assert_eq!(SlowBatch::of(8, ms(32), ms(1)), Some(SlowBatch { size: 8, factor: 4.0 }));
    }

    #[test]
    fn answers_may_differ_by_the_order_of_additions_and_by_no_more() {
        let bytes = |values: &[f32]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<_>>();
        let (one, other) = (bytes(&[0.0, 100.0]), bytes(&[0.0, 1.0]));
        let apart = |together: &[f32]| apart(DType::F32, &[&one, &other], &bytes(together), 1e-3);
        assert_eq!(apart(&[0.0, 100.0, 0.0, 1.0]), None);
        assert_eq!(apart(&[0.01, 99.99, 0.0, 1.001]), None);
        assert_eq!(apart(&[0.0, 90.0, 0.0, 1.0]), Some(0.1));
        assert_eq!(apart(&[0.0, 100.0, 0.0, 1.5]), Some(0.1), "of a 20th of what all span");
        assert_eq!(apart(&[0.0, f32::NAN, 0.0, 1.0]), Some(f64::INFINITY));
        let nan = bytes(&[f32::NAN, f32::INFINITY]);
        assert_eq!(super::apart(DType::F32, &[&nan], &nan, 1e-3), None);
        let labels: Vec<u8> = (0..8i64).flat_map(i64::to_le_bytes).collect();
        assert_eq!(super::apart(DType::I64, &[&labels], &labels, 1e-3), None);
        let others: Vec<u8> = [0, 1, 2, 3, 4, 5, 6, 6i64].into_iter().flat_map(i64::to_le_bytes).collect();
        assert_eq!(super::apart(DType::I64, &[&labels], &others, 1e-3), Some(0.125));
    }
}
