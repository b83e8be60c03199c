//! Facts against which the rules are checked: the plan, the descriptions that the nodes give of themselves, and the
//! observations of the run.

use std::collections::{BTreeMap, BTreeSet};

use lon_qsl::Codec;
use lon_qsl::accuracy::Score;
use lon_qsl::benchmark::{Benchmark, OfficialScores};
use lon_qsl::dataset::Dataset;
use qdl::{Host, NodeDescription, NodeReport};
use serde_json::{Map, Value};

use crate::network::bandwidth::Bandwidth;
use crate::network::nics::NicUse;
use loadgen::conf::origin::{Origin, Sourced};
use loadgen::conf::rules::Rules;
use loadgen::settings::{Mode, Scenario, TestSettings};

/// All that is known at some moment.
#[derive(Clone, Copy)]
pub struct Facts<'a> {
    /// The plan of the run.
    pub planned: &'a Planned,
    /// `None`: the nodes have not been asked yet.
    pub nodes: Option<NodeFacts<'a>>,
    /// `None`: the run is not over.
    pub run: Option<RunFacts<'a>>,
}

/// The plan of a run.
#[derive(Clone, Debug)]
pub struct Planned {
    /// The benchmark of the run.
    pub benchmark: &'static Benchmark,
    /// The scenario of the run.
    pub scenario: Scenario,
    /// The mode of the run.
    pub mode: Mode,
    /// The round whose rules apply, for example `v6.1`.
    pub round: &'static str,
    /// The settings that rules are about.
    pub settings: Settings,
    /// Samples in one query; `None` when the settings cannot be run.
    pub samples_per_query: Option<u64>,
    /// `None`: no dataset is given.
    pub data: Option<Data>,
    /// Codec of the samples.
    pub codec: Codec,
    /// Codec of the answers.
    pub response_codec: Codec,
    /// Why nodes of this kind have no counters; they are no SUT nodes then.
    pub no_counters: Option<&'static str>,
    /// The preprocessing of images before they are sent; `None`: no preprocessing.
    pub preprocess: Option<String>,
    /// The accuracy run that belongs to this one.
    pub accuracy_run: Option<AccuracyRun>,
}

/// The settings of a run beside those that the round has for its benchmark, by the names of `TestSettings`.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// True when the round has settings for this benchmark.
    pub(crate) are_known: bool,
    pub(crate) values: Map<String, Value>,
    pub(crate) official: Map<String, Value>,
    /// Where each setting is from that is not as the round has it.
    pub(crate) origins: BTreeMap<String, String>,
    /// The lines of config files that settings are from.
    pub(crate) places: BTreeMap<String, String>,
}

/// The samples that are sent.
#[derive(Clone, Debug)]
pub struct Data {
    /// A path, a built-in name, or `synthetic:` with what is generated.
    pub name: String,
    /// Number of its samples.
    pub total: u64,
    /// Samples from which a performance run draws.
    pub performance: u64,
    /// True when several items of the dataset became one sample.
    pub is_aggregated: bool,
    /// SHA-256 of the list of the sums of all files; none: there is no such list.
    pub sums_sha256: Option<String>,
    /// True when the files are compared with that list before the run.
    pub is_compared: bool,
    /// Why the samples cannot be this benchmark's, if they cannot.
    pub misfit: Option<String>,
}

/// An accuracy run of the same setup, as its folder describes it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AccuracyRun {
    /// Its folder, for messages.
    pub folder: String,
    /// True when its result is VALID, or when it lacks nothing but a score, which its log can still get.
    pub is_valid: bool,
    /// The benchmark that was run.
    pub benchmark: String,
    /// The scenario's official name.
    pub scenario: String,
    /// The dataset that was sent.
    pub dataset: String,
    /// SHA-256 of its list of sums; none: it has no list.
    pub dataset_sums_sha256: Option<String>,
    /// The round whose rules applied.
    pub round: String,
    /// The score, in the metric's unit.
    pub score: Option<f64>,
    /// The other scores by the official checker's names for them.
    pub other_scores: Vec<(String, f64)>,
    /// The scores that the official script computed from its log, where its folder has them (`accuracy.txt`).
    pub official: Option<OfficialScores>,
    /// SHA-256 of its accuracy log; none: it has no such log.
    pub log_sha256: Option<String>,
    /// The number of samples that were scored; of those that were answered, where nothing here scores them.
    pub samples: u64,
    /// The engine of each node, without what stands behind it.
    pub engines: Vec<String>,
    /// The model of each node, with the sum of its file.
    pub models: Vec<String>,
    /// The processors and accelerators of each node's machine; empty where the result does not have them.
    pub machines: Vec<String>,
    /// The preprocessing of images before they were sent; `None`: no preprocessing is known.
    pub preprocess: Option<String>,
    /// The options of the nodes by name, each with the values that nodes have of it.
    pub options: BTreeMap<String, BTreeSet<String>>,
    /// The settings as requested, by the names of `TestSettings`.
    pub settings: Map<String, Value>,
    /// The codecs of samples and of answers.
    pub codecs: [String; 2],
}

/// The descriptions that the nodes give of themselves.
#[derive(Clone, Copy)]
pub struct NodeFacts<'a> {
    /// The LoadGen node's machine.
    pub(crate) here: &'a Host,
    pub(crate) nodes: &'a [NodeDescription],
}

/// The observations of a run.
#[derive(Clone, Copy)]
pub struct RunFacts<'a> {
    pub(crate) reports: &'a [NodeReport],
    /// The SUT's name before the run and after it; where it is in doubt it does not have what it must contain.
    pub(crate) names: [&'a str; 2],
    /// True when the run came to its end. Samples that are under way when it is broken off are counted at one end only.
    pub(crate) is_whole: bool,
    /// The differences between the counts of the two ends, in words.
    pub(crate) differences: &'a [String],
    pub(crate) bandwidth: &'a Bandwidth,
    /// The interfaces of this host that the run used.
    pub(crate) nics: &'a [NicUse],
    /// The score of the answers of this run.
    pub(crate) score: Option<&'a Score>,
}

impl Settings {
    /// The settings of `sourced` beside those of `rules` alone.
    pub fn of(sourced: &Sourced, rules: &Rules, model: &str) -> Settings {
        let scenario = sourced.settings().scenario;
        let mut official = TestSettings { scenario, ..TestSettings::default() };
        rules.apply(model, scenario.name(), &mut official);
        let (values, official) = (fields(sourced.settings()), fields(&official));
        let changed = values.iter().filter(|(name, value)| official.get(*name) != Some(value));
        let origins = changed.map(|(name, _)| (name.clone(), sourced.origin(name).to_string())).collect();
        let place = |name: &String| match sourced.origin(name) {
            place @ Origin::Line { .. } => Some((name.clone(), place.to_string())),
            _ => None,
        };
        let places = values.keys().filter_map(place).collect();
        Settings { are_known: rules.knows(model), values, official, origins, places }
    }
}

/// Settings by the names of `TestSettings`, those that scenarios declare beside the official ones among them.
pub fn fields(settings: &TestSettings) -> Map<String, Value> {
    let Ok(Value::Object(mut fields)) = serde_json::to_value(settings) else { return Map::new() };
    if let Some(Value::Object(further)) = fields.remove("further") {
        fields.extend(further);
    }
    // The round's process, where no other one is set.
    if settings.scenario.traffic().keys().iter().any(|key| key.field == ARRIVALS) {
        fields.entry(ARRIVALS).or_insert_with(|| POISSON.into());
    }
    fields
}

/// The setting of the arrival process, and its official value.
pub(super) const ARRIVALS: &str = "server_arrivals";
const POISSON: &str = "poisson";

impl Data {
    /// Returns the samples that a benchmark sends, with this setting of `performance_sample_count_override`.
    pub fn of(benchmark: &Benchmark, dataset: &Dataset, performance_override: u64) -> Data {
        let total = dataset.total_count() as u64;
        Data {
            name: dataset.name().to_owned(),
            total,
            performance: match performance_override {
                0 => dataset.performance_count() as u64,
                count => count.min(total),
            },
            is_aggregated: dataset.aggregation().is_some(),
            sums_sha256: dataset.sums_sha256().map(str::to_owned),
            is_compared: true,
            misfit: benchmark.fits(dataset).err().map(|error| error.to_string()),
        }
    }

    /// Returns true when the samples are generated.
    pub(crate) fn is_synthetic(&self) -> bool {
        self.name.starts_with("synthetic:")
    }
}
