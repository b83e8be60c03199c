//! Document that `conf --json` prints: the settings that config files and flags come to, and a prediction of a run with
//! them.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::arrivals::ArrivalsDocument;
use super::division::DivisionDocument;
use super::ordered_map;
use crate::division::{Division, Findings};
use crate::test_run::settings::{self, Layered};
use loadgen::judge::early_stopping::{QueryCount, USUAL, percent};
use loadgen::plan::predict::Prediction;
use loadgen::plan::{Effective, Plan, PlanError};
use loadgen::settings::{IntegerRule, Mode, Qsl};

/// The version of [`ConfDocument`].
const SCHEMA: u32 = 1;

/// The field of the settings beside the official ones.
const FURTHER: &str = "further";

/// Data that the document is made of.
pub struct View {
    /// Name of the benchmark.
    pub benchmark: String,
    /// Tensors that a sample has for the model, where they are known.
    pub inputs: Option<String>,
    /// True when a text may stand for the first of these tensors.
    pub takes_texts: bool,
    /// The settings with their origins.
    pub layers: Layered,
    /// The size of the QSL.
    pub qsl: Qsl,
    /// True when samples are known; otherwise predicted bytes leave the samples out.
    pub has_samples: bool,
    /// The plan, or the reason why there is none.
    pub plan: Result<Plan, PlanError>,
    /// The prediction of the run, where there is one.
    pub prediction: Option<Prediction>,
    /// Warnings about the settings.
    pub warnings: Vec<String>,
    /// Findings on the rules of the Network division, where they are asked for.
    pub findings: Option<Findings>,
}

/// The whole document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ConfDocument {
    /// Version of this form: 1.
    #[cfg_attr(test, schemars(extend("const" = SCHEMA)))]
    pub schema: u32,
    /// The benchmark's name.
    pub benchmark: String,
    /// Tensors that a sample has for the model: `name dtype[dims]`, separated by commas; null where they are not known.
    pub inputs: Option<String>,
    /// True when a text may stand for the first of these tensors.
    pub takes_texts: bool,
    /// The scenario's official name.
    pub scenario: String,
    /// The official name of the mode in force: compliance tests change the one that was asked for.
    pub mode: String,
    /// The round of MLPerf whose rules apply.
    pub rules: String,
    /// True when the round gives its seeds alone: for a benchmark that is not MLPerf's, without `--rules`.
    #[serde(default)]
    pub seeds_only: bool,
    /// Rule by which a draw of the random engine becomes an integer. This integer decides which samples are asked and
    /// in which order.
    #[serde(default)]
    pub integers: IntegerRule,
    /// Samples of the library.
    pub qsl: Qsl,
    /// True when there is a dataset; otherwise predicted bytes leave the samples themselves out.
    pub samples_known: bool,
    /// Each field of the official `TestSettings` of the round by its name, in the order of that structure.
    #[serde(with = "ordered_map")]
    #[cfg_attr(test, schemars(with = "std::collections::BTreeMap<String, SettingDocument>"))]
    pub settings: Vec<(String, SettingDocument)>,
    /// Effective settings in the scenario; null where the settings cannot be run.
    pub effective: Option<EffectiveDocument>,
    /// Prediction of the queries, time, memory and bytes of a run.
    pub predicted: PredictedDocument,
    /// The arrival process of the performance phase, as asked for and as drawn; null in scenarios without a schedule,
    /// where the settings cannot be run, and in documents of earlier versions.
    #[serde(default)]
    pub arrivals: Option<ArrivalsDocument>,
    /// Numbers of queries that the usual percentiles need, and that the percentile of these settings needs; the lowest
    /// percentile first.
    pub query_counts: Vec<QueryCountDocument>,
    /// Warnings of odd settings, in words.
    pub warnings: Vec<String>,
    /// The division that is asked for, and with `--division network` what can be seen of its rules before a run.
    #[serde(default)]
    pub division: DivisionDocument,
}

/// One setting and where its value comes from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SettingDocument {
    /// Its value as requested: a number, a truth value or a name.
    pub value: Value,
    /// Where the value is from, in words: a file and line, a flag, the round, or LoadGen's default.
    pub origin: String,
    /// True when the setting is `auto`: a run finds the value first, and `value` only stands in its place.
    #[serde(default)]
    pub auto: bool,
}

/// Effective settings in their scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct EffectiveDocument {
    /// Samples in each query.
    pub samples_per_query: u64,
    /// Queries per second; in closed-loop scenarios those that are expected.
    pub target_qps: f64,
    /// Latency that the judged percentile must not exceed, ns.
    pub target_latency_ns: u64,
    /// The judged percentile, in percent.
    pub target_latency_percentile: f64,
    /// The run ends early when more queries than this are outstanding.
    pub max_async_queries: u64,
    /// Time for which queries are generated, ms.
    pub target_duration_ms: u64,
    /// At least this many queries.
    pub min_query_count: u64,
    /// At least this many samples.
    pub min_sample_count: u64,
    /// Samples loaded in a performance phase.
    pub performance_sample_count: u64,
    /// Samples of all accuracy phases together.
    pub accuracy_sample_count: u64,
}

/// Prediction of the queries, time, memory and bytes of a run. Every value is null where the settings cannot be run, or
/// depend on a setting that is `auto`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PredictedDocument {
    /// Queries issued in all phases.
    pub queries: Option<u64>,
    /// Samples issued in all phases.
    pub samples: Option<u64>,
    /// Time in which they are issued, s; Offline: in which they are answered.
    pub duration_s: Option<f64>,
    /// Samples and records held at once, bytes.
    pub memory_bytes: Option<u64>,
    /// Messages to the SUT, bytes.
    pub wire_bytes: Option<u64>,
    /// The log files without the logged answers, bytes.
    pub log_bytes: Option<u64>,
    /// Answers that are logged; each of their bytes takes two in the log.
    pub logged_answers: Option<u64>,
}

/// Number of queries that a percentile needs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct QueryCountDocument {
    /// The percentile, in percent.
    pub percentile: f64,
    /// Half the width of the interval around it, in percent.
    pub margin: f64,
    /// Probability with which the percentile is in the interval, in percent.
    pub confidence: f64,
    /// Queries needed for that.
    pub queries: u64,
    /// The same, rounded up to a multiple of 2^13.
    pub rounded: u64,
    /// Fewest queries with which the scenario's early-stopping rule can be met.
    pub early_stopping_minimum: u64,
}

impl From<&View> for ConfDocument {
    fn from(view: &View) -> ConfDocument {
        let requested = view.layers.sourced.settings();
        let plan = view.plan.as_ref().ok();
        ConfDocument {
            schema: SCHEMA,
            benchmark: view.benchmark.clone(),
            inputs: view.inputs.clone(),
            takes_texts: view.takes_texts,
            scenario: requested.scenario.name().to_owned(),
            mode: mode(view).name().to_owned(),
            rules: view.layers.rules.round.name.to_owned(),
            seeds_only: view.layers.is_seeds_only,
            integers: view.layers.profile.integers,
            qsl: view.qsl,
            samples_known: view.has_samples,
            settings: sourced_settings(view),
            effective: plan.map(|plan| EffectiveDocument::from(plan.effective())),
            predicted: view.prediction.as_ref().map_or_else(PredictedDocument::default, PredictedDocument::from),
            arrivals: view.prediction.as_ref().and(plan).and_then(ArrivalsDocument::of),
            query_counts: query_counts(view),
            warnings: view.warnings.clone(),
            division: match &view.findings {
                Some(findings) => DivisionDocument::new(Division::Network, findings),
                None => DivisionDocument::new(Division::None, &Findings::default()),
            },
        }
    }
}

fn mode(view: &View) -> Mode {
    view.plan.as_ref().map_or(view.layers.sourced.settings().mode, |plan| plan.effective().mode)
}

fn sourced_settings(view: &View) -> Vec<(String, SettingDocument)> {
    let Layered { sourced, v05, .. } = &view.layers;
    let (mut fields, keys) = match (v05, serde_json::to_value(sourced.settings())) {
        (Some(v05), _) => (v05.fields(), [].as_slice()),
        (None, Ok(Value::Object(fields))) => (fields, sourced.settings().scenario.traffic().keys()),
        (None, _) => return Vec::new(),
    };
    let origin = |name: &str| v05.as_ref().map_or_else(|| sourced.origin(name), |v05| v05.origin(name));
    let auto_setting = settings::to_find(sourced);
    let setting = |(name, value): (String, Value)| {
        let (origin, auto) = (origin(&name).to_string(), auto_setting == Some(name.as_str()));
        (name, SettingDocument { value, origin, auto })
    };
    // Those that were set beside the official ones stand in one field, and are settings like all others here.
    let further = fields.remove(FURTHER).unwrap_or_default();
    let declared = keys.iter().filter_map(|key| {
        let value = further.get(key.field).cloned().or_else(|| serde_json::to_value(key.default_value()?).ok());
        Some((key.field.to_owned(), value?))
    });
    fields.into_iter().chain(declared).map(setting).collect()
}

impl From<&Effective> for EffectiveDocument {
    fn from(effective: &Effective) -> EffectiveDocument {
        EffectiveDocument {
            samples_per_query: effective.samples_per_query,
            target_qps: effective.target_qps,
            target_latency_ns: effective.target_latency_ns,
            target_latency_percentile: percent(effective.target_latency_percentile),
            max_async_queries: effective.max_async_queries,
            target_duration_ms: effective.target_duration_ms,
            min_query_count: effective.min_query_count,
            min_sample_count: effective.min_sample_count,
            performance_sample_count: effective.performance_sample_count,
            accuracy_sample_count: effective.accuracy_sample_count,
        }
    }
}

impl From<&Prediction> for PredictedDocument {
    fn from(prediction: &Prediction) -> PredictedDocument {
        PredictedDocument {
            queries: Some(prediction.queries),
            samples: Some(prediction.samples),
            duration_s: Some(prediction.duration_s),
            memory_bytes: Some(prediction.memory_bytes),
            wire_bytes: Some(prediction.wire_bytes),
            log_bytes: Some(prediction.log_bytes),
            logged_answers: Some(prediction.logged),
        }
    }
}

/// Of the usual percentiles, and of that of these settings.
fn query_counts(view: &View) -> Vec<QueryCountDocument> {
    let own = view.plan.as_ref().ok().map(|plan| plan.effective().target_latency_percentile);
    let mut percentiles = USUAL.to_vec();
    // Percent times 0.01 is not always the nearest fraction.
    percentiles.extend(own.filter(|own| USUAL.iter().all(|usual| (usual - own).abs() > 1e-9)));
    percentiles.sort_by(f64::total_cmp);
    let early_stopping = view.layers.sourced.settings().scenario.judge().early_stopping();
    let document = |percentile| {
        let QueryCount { margin, confidence, queries, rounded, .. } = QueryCount::of(percentile);
        let early_stopping_minimum = early_stopping.least_queries(percentile);
        let [percentile, margin, confidence] = [percentile, margin, confidence].map(percent);
        QueryCountDocument { percentile, margin, confidence, queries, rounded, early_stopping_minimum }
    };
    percentiles.into_iter().map(document).collect()
}
