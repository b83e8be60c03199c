//! Document that `list --json` prints: the runs below a folder.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::accuracy::AccuracyDocument;
use super::result_summary::{MetricDocument, ResultSummary, Validity};

/// The version of [`RunList`].
const SCHEMA: u32 = 1;

/// The whole document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RunList {
    /// Version of this form: 1.
    #[cfg_attr(test, schemars(extend("const" = SCHEMA)))]
    pub schema: u32,
    /// The runs that were asked for, the oldest first.
    pub runs: Vec<ListedRun>,
    /// Folders whose result cannot be read, each with the reason; of those with logs of an official LoadGen, the
    /// command that reads them.
    pub unreadable: Vec<String>,
}

/// One run in short.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ListedRun {
    /// Its run folder.
    pub folder: String,
    /// When it began, UTC.
    pub started_utc: String,
    /// The benchmark's name.
    pub benchmark: String,
    /// The scenario's official name.
    pub scenario: String,
    /// The official name of the mode.
    pub mode: String,
    /// The verdict on it.
    pub result: Validity,
    /// The run was broken off, or goes on.
    pub interrupted: bool,
    /// The run goes on.
    pub goes_on: bool,
    /// The number that counts; null where nothing was measured.
    pub metric: Option<MetricDocument>,
    /// The 99th percentile of the latency, ns; null where nothing was judged, or it was never measured.
    pub p99_ns: Option<i64>,
    /// The rate at which queries were due, queries/s; null in scenarios without a schedule, and in searches for the
    /// peak.
    pub target_qps: Option<f64>,
    /// Samples in each query; null in scenarios where that is no setting.
    pub samples_per_query: Option<f64>,
    /// The score of the answers with its metric; null where nothing was scored.
    pub accuracy: Option<AccuracyDocument>,
    /// Transport of samples and answers.
    pub transport: String,
    /// The codec of samples; `none` without.
    pub codec: String,
    /// The codec of answers; `none` without.
    pub response_codec: String,
    /// Name that the SUT gave itself.
    pub sut_name: String,
    /// Note of the user on the run; null when there is none.
    pub note: Option<String>,
    /// Labels of the user on the run: each value by its key.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// Share of the queries within the limits of `--within`, from 0 to 1; null without the flag.
    pub within_share: Option<f64>,
    /// Rate of the queries within the limits of `--within`, queries/s; null without the flag.
    pub within_per_s: Option<f64>,
    /// True when the folder has a page, report.html.
    pub has_page: bool,
}

impl ListedRun {
    /// Of a result in this folder.
    pub fn new(folder: String, result: ResultSummary, goes_on: bool, has_page: bool) -> ListedRun {
        let offered = |name: &str| result.offered().filter(|(own, _)| *own == name).map(|(_, load)| load);
        ListedRun {
            folder,
            p99_ns: result.latency_ns.and_then(|spread| spread.p99),
            target_qps: offered("target_qps"),
            samples_per_query: offered("samples_per_query"),
            started_utc: result.made.started_utc,
            benchmark: result.benchmark,
            scenario: result.scenario,
            mode: result.mode,
            result: result.result,
            interrupted: result.interrupted,
            goes_on,
            metric: result.metric,
            accuracy: result.accuracy,
            transport: result.network.transport,
            codec: result.network.codec,
            response_codec: result.network.response_codec,
            sut_name: result.sut_name,
            note: result.made.note,
            labels: result.made.labels,
            within_share: result.within.and_then(|within| within.share),
            within_per_s: result.within.and_then(|within| within.queries_per_s),
            has_page,
        }
    }
}

impl RunList {
    /// Of these runs.
    pub fn new(runs: Vec<ListedRun>, unreadable: Vec<String>) -> RunList {
        RunList { schema: SCHEMA, runs, unreadable }
    }
}
