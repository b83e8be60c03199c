//! `qdl_result.json`: the network's side of a run that another engine led, for example the official LoadGen. Whether
//! the result is VALID stands in that engine's logs; this file says whether they can be used at all.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::counts::CountsDocument;
use super::division::DivisionDocument;
use super::network_summary::NetworkSummary;
use super::provenance::MadeDocument;
use super::result_summary::{self, FileDocument, ResultSummary};
use super::sut_setup::SutNode;
use crate::outputs::run_folder::folder::FileEntry;
use crate::test_run::finished::Finished;

/// Name in the folder.
pub const FILE: &str = "qdl_result.json";

/// The version of [`QdlResult`].
const SCHEMA: u32 = 1;

/// The whole file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct QdlResult {
    /// Version of this form: 1.
    #[cfg_attr(test, schemars(extend("const" = SCHEMA)))]
    pub schema: u32,
    /// State of the logs of the engine that led the run: usable or unusable.
    pub state: QdlState,
    /// Why the logs cannot be used, in words; empty where they can.
    pub reasons: Vec<String>,
    /// Code of each reason, in the same order: a word for programs, such as `failed_samples`. Empty in results of
    /// earlier versions.
    #[serde(default)]
    pub reason_codes: Vec<String>,
    /// Says that this is no verdict, and no official result.
    pub unofficial: String,
    /// This library and its version.
    pub qdl_version: String,
    /// The division whose rules were asked for, and what is found of each rule of the Network division.
    pub division: DivisionDocument,
    /// Why this is no result of the Network division, and what could not be checked, in words; empty where it is one.
    pub marks: Vec<String>,
    /// The round of MLPerf whose rules applied.
    pub rules: String,
    /// The benchmark's name.
    pub benchmark: String,
    /// The dataset: a path, a built-in name, or `synthetic:` with what was generated.
    pub dataset: String,
    /// SHA-256 of the dataset's list of sums, hexadecimal; null when it has none.
    pub dataset_sums_sha256: Option<String>,
    /// Processing of images before they were sent, as `--preprocess` names it; null when there was none.
    pub preprocess: Option<String>,
    /// The scenario's official name, as the library was told.
    pub scenario: String,
    /// Name that the SUT gave itself after the run.
    pub sut_name: String,
    /// Counts of issued samples and of how they ended.
    pub counts: CountsDocument,
    /// Provenance of the run: its time, command and conditions.
    pub made: MadeDocument,
    /// Set-up of each SUT node, in the order of the nodes.
    pub sut: Vec<SutNode>,
    /// The network side in short; `network_report.json` has it in full.
    pub network: NetworkSummary,
    /// The other files that this library wrote, by their names.
    pub files: BTreeMap<String, FileDocument>,
}

/// State of the logs of the engine that led the run: usable or unusable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum QdlState {
    /// Every sample that was issued was answered once, by nodes that stayed, and both ends have counted the same.
    Usable,
    /// There is at least one reason against it. No verdict of the other engine counts then.
    #[default]
    Unusable,
}

impl From<&Finished> for QdlResult {
    fn from(finished: &Finished) -> QdlResult {
        let Finished { setup, outcome, nodes, judgement, .. } = finished;
        QdlResult {
            schema: SCHEMA,
            state: if outcome.verdict.is_valid() { QdlState::Usable } else { QdlState::Unusable },
            reasons: result_summary::texts(outcome.verdict.reasons()),
            reason_codes: result_summary::codes(outcome.verdict.reasons()),
            unofficial: "no verdict: the logs of the engine that led the run have it; results of this tool are \
                         unverified and are not official MLPerf results"
                .to_owned(),
            qdl_version: concat!("lon ", env!("CARGO_PKG_VERSION"), ", unofficial").to_owned(),
            division: DivisionDocument::new(setup.division, &judgement.findings),
            marks: judgement.marks(),
            rules: setup.rules.round.name.to_owned(),
            benchmark: setup.benchmark.name.to_owned(),
            dataset: setup.dataset_name.clone(),
            dataset_sums_sha256: setup.planned.data.as_ref().and_then(|data| data.sums_sha256.clone()),
            preprocess: setup.planned.preprocess.clone(),
            scenario: setup.scenario().name().to_owned(),
            sut_name: nodes.last_name.text.clone(),
            counts: CountsDocument::new(outcome, &nodes.reports, finished.nan()),
            made: MadeDocument::new(setup, finished.started, finished.wall_time),
            sut: nodes.described.iter().map(SutNode::from).collect(),
            network: NetworkSummary::from(finished),
            files: BTreeMap::new(),
        }
    }
}

/// Takes over the parts that the result of a run of our own has, too. There is no verdict, and nothing that is measured
/// by the engine.
impl From<QdlResult> for ResultSummary {
    fn from(run: QdlResult) -> ResultSummary {
        ResultSummary {
            schema: run.schema,
            unofficial: run.unofficial,
            loadgen_version: run.qdl_version,
            division: run.division,
            marks: run.marks,
            rules: run.rules,
            benchmark: run.benchmark,
            dataset: run.dataset,
            dataset_sums_sha256: run.dataset_sums_sha256,
            preprocess: run.preprocess,
            scenario: run.scenario,
            sut_name: run.sut_name,
            counts: run.counts,
            reasons: run.reasons,
            reason_codes: run.reason_codes,
            made: run.made,
            sut: run.sut,
            files: run.files,
            network: run.network,
            ..ResultSummary::default()
        }
    }
}

impl QdlResult {
    /// With these files in the folder.
    pub(crate) fn with_files(mut self, files: &[FileEntry]) -> QdlResult {
        self.files = FileDocument::by_name(files);
        self
    }
}
