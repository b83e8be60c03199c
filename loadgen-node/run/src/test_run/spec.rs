//! A test as it is asked for: plain values. The command line makes one of its flags, and any caller of the library can
//! make one without a command line. Nothing in it has been opened or checked yet; [`super::Test::new`] does that.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use lon_net::slice::Priority;
use lon_qsl::benchmark::Benchmark;
use lon_qsl::dataset::Aggregate;
use lon_qsl::{Codec, Preprocess};
use serde::{Deserialize, Serialize};

use super::labels::Labels;
use crate::division::{AccuracyRun, Division};
use crate::nodes::target::Target;
use crate::verdict::within::WithinLimits;
use loadgen::conf::rules::Rules;
use loadgen::run::Goal;
use loadgen::settings::{Assignment, IntegerRule, Mode, Scenario};
use lon_world::pace::PacingSpec;

/// Everything that makes one test.
#[derive(Clone, Debug)]
pub struct TestSpec {
    /// The benchmark whose samples are sent.
    pub benchmark: &'static Benchmark,
    /// The official scenario.
    pub scenario: Scenario,
    /// The SUT nodes, and how they are reached.
    pub target: Target,
    /// Which samples are sent.
    pub data: DataSpec,
    /// Settings beside those that the benchmark brings.
    pub settings: SettingsSpec,
    /// Codecs of samples and answers.
    pub codecs: Codecs,
    /// The division whose rules the run keeps.
    pub division: Division,
    /// The accuracy run that belongs to this one, by the rules of that division.
    pub accuracy_run: Option<AccuracyRun>,
    /// Connections to each node.
    pub connections: NonZeroUsize,
    /// Which threads do the work, and how they wait.
    pub pacing: PacingSpec,
    /// The priority of the threads that issue and carry.
    pub priority: Priority,
    /// The limits of a run beside the official rules.
    pub limits: Limits,
    /// Limits of latencies; queries within all of them are counted. The verdict does not depend on them.
    pub within: Option<WithinLimits>,
    /// The duration of a warm-up before the run; `None`: none.
    pub warm_up: Option<Duration>,
    /// The options of a search for the peak; for mode FindPeakPerformance only.
    pub find_peak: FindPeakSpec,
    /// The fabric is probed before the run.
    pub probe: bool,
    /// The test is run although it is known beforehand that its result cannot become VALID.
    pub anyway: bool,
    /// The run goes on beyond its plan where early stopping asks for more queries.
    pub extend: bool,
    /// Nodes that differ in model, engine or options are run, and marked.
    pub mixed_nodes: bool,
    /// Keeps when each sample was issued, which the trace log needs.
    pub trace_log: bool,
    /// Keeps which node answered each sample of the performance phase, and how long each stage took.
    pub record_stages: bool,
    /// Write `report.html`, the run as one page.
    pub report: bool,
    /// A file of `sut-node bench --out` to compare the result with.
    pub baseline: Option<PathBuf>,
    /// A file with what the user states of the system.
    pub system_desc: Option<PathBuf>,
    /// The call of the program; for the record only.
    pub call: Call,
}

impl TestSpec {
    /// A test with every option at its default, as of a command line with the needed flags alone.
    pub fn new(benchmark: &'static Benchmark, scenario: Scenario, target: Target) -> TestSpec {
        TestSpec {
            benchmark,
            scenario,
            target,
            data: DataSpec::default(),
            settings: SettingsSpec::default(),
            codecs: Codecs::default(),
            division: Division::default(),
            accuracy_run: None,
            connections: NonZeroUsize::MIN,
            pacing: PacingSpec::default(),
            priority: Priority::default(),
            limits: Limits::default(),
            within: None,
            warm_up: None,
            find_peak: FindPeakSpec::default(),
            probe: false,
            anyway: false,
            extend: false,
            mixed_nodes: false,
            trace_log: false,
            record_stages: false,
            report: true,
            baseline: None,
            system_desc: None,
            call: Call::default(),
        }
    }
}

/// The call of the program. It stands in the result and has no effect on the run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Call {
    /// The command as it was typed.
    pub command: Vec<String>,
    /// Environment variables that stand for flags.
    pub environment: BTreeMap<String, String>,
    /// The git revision that the program was built from, where it is known.
    pub revision: Option<String>,
    /// The user's note on the run.
    pub note: Option<String>,
    /// The warm-up before the run, when it has ended.
    pub warm_up: Option<WarmUp>,
    /// The user's labels of the run.
    pub labels: Labels,
}

impl Call {
    /// The call of this process: its words, and the `variables` that stand for flags. Other variables may be secret.
    pub fn of_this_process(variables: impl Iterator<Item = OsString>) -> Call {
        let text = |text: OsString| text.to_string_lossy().into_owned();
        Call {
            command: std::env::args_os().map(text).collect(),
            environment: variables
                .filter_map(|name| Some((name.clone(), std::env::var_os(name)?)))
                .map(|(name, value)| (text(name), text(value)))
                .collect(),
            revision: lon_shell::version::REVISION.map(str::to_owned),
            ..Call::default()
        }
    }
}

/// A warm-up that has ended, which nothing judges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct WarmUp {
    /// The duration that was asked for, ns.
    pub wanted_ns: u64,
    /// Samples that were answered.
    pub answered: u64,
    /// Samples that failed.
    pub failed: u64,
    /// Rate of answers over all runs of the warm-up, samples per second; null where too little was answered.
    pub samples_per_s: Option<f64>,
    /// The median latency in the last of these runs, ns; null where that sample was not answered.
    pub p50_ns: Option<i64>,
    /// The 99th percentile of the latency in the last of these runs, ns; null where that sample was not answered.
    pub p99_ns: Option<i64>,
}

/// Which samples a test sends.
#[derive(Clone, Debug, Default)]
pub struct DataSpec {
    /// The dataset, as `--dataset` takes it; `None`: the benchmark's own.
    pub dataset: Option<String>,
    /// The preprocessing of images; `None`: the benchmark's own.
    pub preprocess: Option<Preprocess>,
    /// The items of the dataset that each sample has; `None`: one.
    pub aggregate: Option<Aggregate>,
    /// Token ids are sent without what can be made of them.
    pub ids_alone: bool,
    /// Every sample is read before the test.
    pub verify: bool,
}

/// Settings of a test, beside those that the benchmark and the round bring.
#[derive(Clone, Debug, Default)]
pub struct SettingsSpec {
    /// LoadGen's mode; `None`: what the config files say, else PerformanceOnly.
    pub mode: Option<Mode>,
    /// Single settings, applied in their order.
    pub set: Vec<Assignment>,
    /// The arrival process, as `--arrivals` takes it; `None`: what the other settings say.
    pub arrivals: Option<String>,
    /// The value that a look at the nodes has found for a setting that was `auto`; applied after those.
    pub auto_value: Option<Assignment>,
    /// The way in which it was found, in words.
    pub auto_reason: String,
    /// Number that is added to the round's seeds, so that tests that run together do not ask the same.
    pub seed_offset: u64,
    /// The file mlperf.conf, which may set everything.
    pub mlperf_conf: Option<PathBuf>,
    /// The file user.conf, which may set everything but seeds.
    pub user_conf: Option<PathBuf>,
    /// The file audit.config, which replaces everything else.
    pub audit_conf: Option<PathBuf>,
    /// The round whose built-in settings apply; `None`: the newest, and only its seeds for benchmarks that it does not
    /// know.
    pub rules: Option<&'static Rules>,
    /// The rule by which a draw becomes an integer below a bound; `None`: as the round has it.
    pub integers: Option<IntegerRule>,
    /// Lines of config files that are ignored, or read as something else than they look like, are errors.
    pub strict_conf: bool,
}

/// The codecs of samples and answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Codecs {
    /// Codec of the samples, applied before the run.
    pub samples: Codec,
    /// Codec of the answers, applied by the SUT node and undone on arrival.
    pub answers: Codec,
}

/// The limits of a run beside the official rules.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// A sample without an answer this long after it was sent has failed.
    pub response_timeout: Duration,
    /// Bytes of one answer at most, where a node leaves sizes of its outputs free.
    pub max_answer_bytes: u64,
    /// The largest schedule lag (p99, Server) and the longest stall of a valid result. `None`: 1 ms, or 1 % of the
    /// target latency if that is more, or 50 ms where SUT nodes share too few cores with the LoadGen node.
    pub max_lag: Option<Duration>,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { response_timeout: Duration::from_secs(60), max_answer_bytes: 64 << 20, max_lag: None }
    }
}

/// The options of a search for the peak.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FindPeakSpec {
    /// Most trials to run; `None`: the engine's default.
    pub max_trials: Option<u64>,
    /// The find_peak.json of an earlier search to go on with.
    pub resume: Option<PathBuf>,
    /// Share of the highest load that passed at which halving ends; `None`: 1 %, or the decimals where they are set.
    pub precision: Option<f64>,
    /// Halving ends at LoadGen's decimals.
    pub by_decimals: bool,
    /// Whole runs that the load which was found must pass; `None`: 1, in round v0.5 5.
    pub verifications: Option<u32>,
    /// Share by which the first failed verification lowers the load; `None`: the precision.
    pub step_back: Option<f64>,
    /// Length of a trial as a share of the whole run; `None`: 0.2, and 1 without verification.
    pub trial_share: Option<f64>,
    /// Limits that trials have to keep in place of the scenario's own.
    pub goals: Vec<Goal>,
    /// A trial ends as soon as it can no longer pass.
    pub give_up_early: bool,
    /// Of a mix: the tenant whose load is searched for; `None`: one factor for all rates.
    pub tenant: Option<String>,
}
