//! The file of a submission, as it is written: TOML, by one struct. Unknown keys are errors.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;
use toml::Value;

/// The whole file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct SubmissionFile {
    /// Name of the organisation that submits, as its folder is called.
    pub(crate) submitter: String,
    /// `network` or `open`.
    pub(crate) division: String,
    /// The round: `v5.0`, `v5.1`, `v6.0` or `v6.1`.
    pub(crate) round: String,
    /// Name of the system, as its folders are called.
    pub(crate) system: String,
    /// The engine that leads the runs: `loadgen-node`, which is the default, or `official`.
    pub(crate) engine: Option<String>,
    /// The words before the flags of a program that runs the official LoadGen over our network library; the program
    /// `lon-official` unless given.
    pub(crate) official: Option<Vec<String>>,
    /// Makes all runs so long only, as `10s`: to try the whole way. What comes out cannot be submitted.
    pub(crate) rehearsal: Option<String>,
    /// The folder for run folders, from the folder of this file; `runs` unless given, `rehearsal` in a rehearsal.
    pub(crate) runs: Option<PathBuf>,
    /// Flags of `loadgen-node run` that every run has, without dashes in front: `sut`, `transport`, `tls-ca`, ...
    pub(crate) run: BTreeMap<String, Value>,
    /// Official keys of the system description that no run can know, each with a text.
    #[serde(default)]
    pub(crate) system_description: BTreeMap<String, String>,
    /// Texts that a submission has beside its results.
    pub(crate) texts: Texts,
    /// The benchmarks that are submitted.
    #[serde(default)]
    pub(crate) benchmark: Vec<BenchmarkTable>,
}

/// Texts that a submission has beside its results.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Texts {
    /// Where the code of the system is, and how it is built and started.
    pub(crate) code: String,
    /// The way in which the model was quantized and calibrated, or a statement that it was not.
    pub(crate) calibration: String,
    /// Further remarks on the results; may be left out.
    #[serde(default)]
    pub(crate) readme: String,
}

/// A benchmark that is submitted.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct BenchmarkTable {
    /// Its name here or in the official checker: `resnet50`, `bert-99.9`.
    pub(crate) name: String,
    /// Flags of `loadgen-node run` for this benchmark alone, such as `dataset`.
    #[serde(default)]
    pub(crate) run: BTreeMap<String, Value>,
    /// By kind of run (`accuracy`, `performance`, `TEST07`), flags in place of those of the same name in `run`: where
    /// runs have different datasets.
    #[serde(default)]
    pub(crate) run_for: BTreeMap<String, BTreeMap<String, Value>>,
    /// True when answers to one sample may differ from run to run: then TEST01 compares scores where answers differ.
    #[serde(default)]
    pub(crate) nondeterministic: bool,
    /// A command that scores an accuracy log, as `audit --scorer` has it for TEST07 and TEST01.
    pub(crate) scorer: Option<String>,
    /// By scenario, official settings for `user.conf`: keys without benchmark and scenario, in official units.
    pub(crate) settings: BTreeMap<String, BTreeMap<String, Value>>,
    /// In the edge suite, scenarios whose results follow from the runs of others: `MultiStream = "SingleStream"`.
    #[serde(default)]
    pub(crate) inferred: BTreeMap<String, String>,
    /// The facts of the model that the rules ask for.
    pub(crate) model: Model,
}

/// The facts of the model that the rules ask for: the five official keys.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Model {
    /// Types of the model's inputs: `fp32`, `int8`.
    pub(crate) input_data_types: String,
    /// Retraining of the model: `no`, or how it was trained again.
    pub(crate) retraining: String,
    /// The file of the weights from which the model was made.
    pub(crate) starting_weights_filename: String,
    /// Types of the weights: `fp32`, `int8`.
    pub(crate) weight_data_types: String,
    /// Changes to the weights: `none`, `quantization`, ...
    pub(crate) weight_transformations: String,
}
