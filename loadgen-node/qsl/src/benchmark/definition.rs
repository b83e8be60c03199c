//! The definition of a benchmark, as read from its file.

use std::path::PathBuf;

use lon_image::Preprocess;
use lon_proto::sample::DType;

use super::kind::{DatasetKind, Form};
use super::network::NetworkRules;
use super::quality::Quality;
use super::suite::{self, Membership, Suite};
use crate::accuracy::Target;
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
    /// How answers are scored; none: there is nothing to score, or no way to do it here.
    pub accuracy: Option<Target>,
    /// What the official rules require of the answers, in the metrics of the reference implementation.
    pub quality: Vec<Quality>,
    /// The number of samples of the official dataset.
    pub qsl: QslSize,
    /// The file from which it was read, when it is not built in. Its rules may differ from the official ones.
    pub file: Option<PathBuf>,
    pub(super) dataset: DatasetKind,
    pub(super) inputs: Option<Inputs>,
    pub(super) preprocess: Option<Preprocess>,
    pub(super) suites: Vec<suite::Entry>,
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
    /// Returns the rules of the Network division; none when the division does not have this benchmark.
    pub fn network(&self) -> Option<&NetworkRules> {
        self.network.as_ref()
    }

    /// Returns the formula of Appendix B of the rules: the bandwidth that a rate of samples needs.
    pub fn bandwidth(&self) -> Option<&Formula> {
        self.bandwidth.as_ref()
    }

    /// Returns the formula for samples and answers whose tensors have these types. Types that are not known are those
    /// of the benchmark's file.
    pub fn bandwidth_of(&self, sent: &[DType], answered: &[DType]) -> Option<Formula> {
        self.bandwidth.as_ref().map(|formula| formula.with_dtypes(sent, answered, self.takes_texts()))
    }

    /// Returns what is known about its place in a suite in a round.
    pub fn membership(&self, suite: Suite, round: &str) -> Membership<'_> {
        suite::membership(&self.suites, suite, round)
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
