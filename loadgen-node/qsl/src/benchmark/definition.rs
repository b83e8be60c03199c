//! The definition of a benchmark, as read from its file.

use std::path::PathBuf;

use lon_image::Preprocess;
use lon_proto::sample::{DType, TensorSpec};

use super::generation::Generation;
use super::kind::{DatasetKind, Form};
use super::network::NetworkRules;
use super::published::Published;
use super::quality::Quality;
use super::suite::{self, Membership, Suite};
use crate::accuracy::{Other, Rows, Score, ScoreError, Target, Truths};
use crate::bandwidth::Formula;
use crate::encode::inputs::Inputs;

/// A benchmark: its samples, its limits and rules, and how its answers are scored.
#[derive(Clone, Debug)]
pub struct Benchmark {
    /// The name as given to `--benchmark`; for benchmarks of MLPerf the model's name in official config files.
    pub name: &'static str,
    /// Other names by which it is found.
    pub aliases: Vec<&'static str>,
    /// A description for `--help` and error messages.
    pub about: &'static str,
    /// Settings that differ from LoadGen's defaults, as `[SCENARIO.]KEY=VALUE` with LoadGen config keys.
    pub settings: Vec<&'static str>,
    /// The metric of the answers and its bounds. `None` when there is nothing to score, or no way to score it here.
    pub accuracy: Option<Target>,
    /// The other metrics in which answers are scored, and their bounds.
    pub other_accuracy: Vec<Target>,
    /// The scores that the official rules require of the answers, in the metrics of the reference implementation.
    pub quality: Vec<Quality>,
    /// The number of samples of the official dataset.
    pub qsl: QslSize,
    /// The file from which it was read, when it is not built in. Its rules may differ from the official ones.
    pub file: Option<PathBuf>,
    pub(super) dataset: DatasetKind,
    pub(super) inputs: Option<Inputs>,
    pub(super) preprocess: Option<Preprocess>,
    /// Files of its dataset that are published with their sums.
    pub(super) published: Vec<Published>,
    pub(super) suites: Vec<suite::Entry>,
    pub(super) generation: Vec<Generation>,
    pub(super) network: Option<NetworkRules>,
    pub(super) bandwidth: Option<Formula>,
}

/// The number of samples of the official dataset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QslSize {
    /// The number of all samples, when it is known.
    pub total_samples: Option<usize>,
    /// The number of samples from which a performance run draws, when it is known.
    pub performance_samples: Option<usize>,
}

impl Benchmark {
    /// Returns true for a built-in benchmark that MLPerf has published in a round.
    pub fn is_of_mlperf(&self) -> bool {
        self.file.is_none() && !matches!(self.dataset, DatasetKind::Digits | DatasetKind::Synthetic { .. })
    }

    /// Returns the rules of the Network division; none when the division does not have this benchmark.
    pub fn network(&self) -> Option<&NetworkRules> {
        self.network.as_ref()
    }

    /// Returns the parameters of generation that the rules prescribe in a round; none where they prescribe none.
    pub fn generation(&self, round: &str) -> Option<&Generation> {
        self.generation.iter().find(|generation| generation.rounds.has(round))
    }

    /// Returns the formula of Appendix B of the rules: the bandwidth that a rate of samples needs.
    pub fn bandwidth(&self) -> Option<&Formula> {
        self.bandwidth.as_ref()
    }

    /// Returns the formula for samples and answers whose tensors have these types. Types that are not known are those
    /// of the benchmark's file. Where token ids are sent alone, they are all that it counts.
    pub fn bandwidth_of(&self, sample_dtypes: &[DType], answer_dtypes: &[DType]) -> Option<Formula> {
        let formula = self.bandwidth.as_ref()?.with_dtypes(sample_dtypes, answer_dtypes, self.takes_texts());
        let can_be_alone = self.inputs.as_ref().and_then(Inputs::ids_alone).is_some();
        let is_alone = can_be_alone && sample_dtypes.len() == 1;
        Some(if is_alone { formula.of_first_input() } else { formula })
    }

    /// Returns the formula of the rules, or, where its file has none, the bytes of its inputs. None when these are
    /// free.
    pub fn bandwidth_or_inputs(&self) -> Option<Formula> {
        let of_inputs = || Formula::of_inputs(self.inputs.as_ref()?.specs());
        self.bandwidth.clone().or_else(of_inputs)
    }

    /// Returns the types in which the first of its inputs may be sent, the preferred one first. Empty when its inputs
    /// are not known.
    pub fn sent_dtypes(&self) -> Vec<DType> {
        let first = self.inputs.as_ref().and_then(|inputs| inputs.specs().first());
        first.map(|input| input.dtypes().collect()).unwrap_or_default()
    }

    /// Returns the types of its inputs, each sent as `dtype` where that is taken, else as it prefers.
    pub fn sent_as(&self, dtype: DType) -> Vec<DType> {
        let dtype_of = |input: &TensorSpec| input.dtypes().find(|taken| *taken == dtype).unwrap_or(input.dtype);
        self.inputs.as_ref().map(|inputs| inputs.specs().iter().map(dtype_of).collect()).unwrap_or_default()
    }

    /// Returns a description of synthetic samples that are like those of its dataset; none for a dataset that is part
    /// of the program.
    pub fn example(&self) -> Option<&'static str> {
        match self.dataset {
            DatasetKind::Digits => None,
            DatasetKind::Synthetic { example } | DatasetKind::Files { example, .. } => Some(example),
        }
    }

    /// Returns what is known about its place in a suite in a round.
    pub fn membership(&self, suite: Suite, round: &str) -> Membership<'_> {
        suite::membership(&self.suites, suite, round)
    }

    /// Scores answers (sample index and bytes) in all metrics of this benchmark. `rows` is the layout of the answers,
    /// when it is known. None: answers are not scored here.
    ///
    /// # Errors
    /// There is no score in the first metric: see [`Target::score`].
    pub fn score<'a>(
        &self,
        answers: impl Iterator<Item = (usize, &'a [u8])> + Clone,
        truths: &Truths,
        rows: Option<Rows>,
    ) -> Option<Result<Score, ScoreError>> {
        let target = self.accuracy?;
        let has_sentences = matches!(truths, Truths::Decoded(_, reader) if reader.sentences.is_some());
        let other = |target: &Target| {
            let official = match has_sentences {
                true => target.metric.checker_name_with_sentences(),
                false => target.metric.checker_name(),
            };
            let value = target.score(answers.clone(), truths, rows).map(|score| score.value);
            Other { target: *target, value, official }
        };
        let others = self.other_accuracy.iter().map(other).collect();
        Some(target.score(answers, truths, rows).map(|score| Score { others, ..score }))
    }

    /// Tells whether it can be opened without a dataset being given.
    pub fn has_dataset(&self) -> bool {
        self.dataset == DatasetKind::Digits
    }

    /// Returns the inputs of its model, when they are known.
    pub fn inputs(&self) -> Option<&Inputs> {
        self.inputs.as_ref()
    }

    /// Tells whether a text in UTF-8, `u8[bytes]`, may stand for the first of its inputs. The SUT then makes the
    /// tokens.
    pub fn takes_texts(&self) -> bool {
        matches!(self.dataset, DatasetKind::Files { form: Form::Prompts, .. })
    }

    /// Returns the preprocessing of images that applies unless another one is given.
    pub fn preprocess(&self) -> Option<&Preprocess> {
        self.preprocess.as_ref()
    }
}
