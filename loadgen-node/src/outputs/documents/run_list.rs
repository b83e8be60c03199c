//! Document that `list --json` prints: the runs below a folder.

use serde::{Deserialize, Serialize};

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
    /// Name that the SUT gave itself.
    pub sut_name: String,
    /// Note of the user on the run; null when there is none.
    pub note: Option<String>,
    /// True when the folder has a page, report.html.
    pub has_page: bool,
}

impl ListedRun {
    /// Of a result in this folder.
    pub(crate) fn new(folder: String, result: ResultSummary, goes_on: bool, has_page: bool) -> ListedRun {
        ListedRun {
            folder,
            started_utc: result.made.started_utc,
            benchmark: result.benchmark,
            scenario: result.scenario,
            mode: result.mode,
            result: result.result,
            interrupted: result.interrupted,
            goes_on,
            metric: result.metric,
            sut_name: result.sut_name,
            note: result.made.note,
            has_page,
        }
    }
}

impl RunList {
    /// Of these runs.
    pub(crate) fn new(runs: Vec<ListedRun>, unreadable: Vec<String>) -> RunList {
        RunList { schema: SCHEMA, runs, unreadable }
    }
}
