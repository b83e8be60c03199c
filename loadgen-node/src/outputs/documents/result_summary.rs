//! `result_summary.json`: the result of a run, its reasons and its settings. The command `accuracy` reads it back.
//!
//! Folders of earlier versions are read, too: of their keys only those that say what was run must be there.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, SystemTime};

use lon_shell::documents::HostDocument;
use serde::{Deserialize, Deserializer, Serialize};
use sha2::{Digest as _, Sha256};

use super::accuracy::AccuracyDocument;
use super::baseline::BaselineDocument;
use super::bound::BoundDocument;
use super::counts::CountsDocument;
use super::division::DivisionDocument;
use super::find_peak::FindPeakDocument;
use super::lag::{LagCourseDocument, LagDocument};
use super::limits::LimitDocument;
use super::made::MadeDocument;
use super::network_summary::NetworkSummary;
use super::parts::LatencySpread;
use super::saturation::SaturationDocument;
use super::sut_setup::SutNode;
use crate::division::{self, AccuracyRun, Findings, identity};
use crate::outputs::folder::Written;
use crate::outputs::tokens;
use crate::test_run::finished::{Finished, Setup};
use loadgen::conf::rules::Rules;
use loadgen::judge::{Summary, Verdict};
use loadgen::recorder::StoredTimeline;
use loadgen::run::{End, SearchRecord};
use loadgen::settings::{IntegerRule, Profile, TestSettings};
use loadgen::vectors::Rejudged;
use lon_world::stall::Stall;

/// Name in the run folder.
pub const FILE: &str = "result_summary.json";

/// The version of [`ResultSummary`].
pub(super) const SCHEMA: u32 = 1;

/// The whole file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ResultSummary {
    /// Version of this form: 1.
    #[serde(default)]
    #[cfg_attr(test, schemars(extend("const" = SCHEMA)))]
    pub schema: u32,
    /// The verdict: the official rules, every sample answered once, and this program's own rules.
    #[serde(default)]
    pub result: Validity,
    /// Verdict of the log files in the official formats: the official rules, and every sample answered once; null where
    /// they judge nothing, as in accuracy runs.
    pub official_result: Option<Validity>,
    /// True when a signal ended the run early.
    #[serde(default)]
    pub interrupted: bool,
    /// Says that this is no official result.
    #[serde(default)]
    pub unofficial: String,
    /// This program and its version.
    #[serde(default)]
    pub loadgen_version: String,
    /// The division whose rules were asked for, and what is found of each rule of the Network division.
    #[serde(default)]
    pub division: DivisionDocument,
    /// Why this is no result of the Network division, and what could not be checked, in words; empty where it is one.
    #[serde(default)]
    pub marks: Vec<String>,
    /// The round of MLPerf whose rules applied.
    #[serde(default)]
    pub rules: String,
    /// Rule by which a draw of the random engine became an integer. This integer decides which samples are asked and in
    /// which order.
    #[serde(default)]
    pub integers: IntegerRule,
    /// The benchmark's name.
    pub benchmark: String,
    /// The benchmark's file, where it is one of the user's; null: it is built in.
    pub benchmark_file: Option<String>,
    /// The dataset: a path, a built-in name, or `synthetic:` with what was generated.
    pub dataset: String,
    /// SHA-256 of the dataset's list of sums, hexadecimal; null when it has none.
    pub dataset_sums_sha256: Option<String>,
    /// Processing of images before they were sent, as `--preprocess` names it; null when there was none.
    pub preprocess: Option<String>,
    /// The scenario's official name.
    #[serde(default)]
    pub scenario: String,
    /// The official name of the mode that was asked for.
    pub mode: String,
    /// Name that the SUT gave itself after the run.
    #[serde(default)]
    pub sut_name: String,
    /// The number that counts; null where nothing was measured.
    pub metric: Option<MetricDocument>,
    /// The search for the peak; null in runs of other modes.
    pub find_peak: Option<FindPeakDocument>,
    /// Accuracy of the answers; null where nothing was scored.
    pub accuracy: Option<AccuracyDocument>,
    /// Why an accuracy run has no score; null where it has one, and in runs of other modes.
    pub accuracy_note: Option<String>,
    /// Latencies that the verdict is about; null where nothing was judged.
    pub latency_ns: Option<LatencySpread>,
    /// Latencies beside the limits that the official rules judge them by; empty where the scenario has none.
    #[serde(default)]
    pub latency_limits: Vec<LimitDocument>,
    /// Lateness of samples; null of a run that was killed, whose folder does not have it.
    pub schedule_lag_ns: Option<LagDocument>,
    /// The largest lags over time, of the performance phase.
    #[serde(default)]
    pub schedule_lag_course: LagCourseDocument,
    /// When either end stood still for half a second or more while samples were timed, in order.
    #[serde(default)]
    pub stalls: Vec<StallDocument>,
    /// Load of the LoadGen node against its limits; null of a run that was killed.
    pub saturation: Option<SaturationDocument>,
    /// Cause that limited the run; null of a run that was killed, and in results of earlier versions.
    #[serde(default)]
    pub bound: Option<BoundDocument>,
    /// Cost of the network against the same backend without one; null without `--baseline`.
    pub baseline: Option<BaselineDocument>,
    /// Counts of issued samples and of how they ended.
    #[serde(default)]
    pub counts: CountsDocument,
    /// Why the verdict is INVALID, in words; empty: it is VALID.
    #[serde(default)]
    pub reasons: Vec<String>,
    /// Settings to use instead where the run was too short or its rate too high, as `--set KEY=VALUE` with words around
    /// it.
    #[serde(default)]
    pub hints: Vec<String>,
    /// The settings as requested.
    #[serde(default)]
    pub settings: TestSettings,
    /// Provenance of the run: its time, command and conditions.
    #[serde(default)]
    pub made: MadeDocument,
    /// Set-up of each SUT node, in the order of the nodes.
    #[serde(default)]
    pub sut: Vec<SutNode>,
    /// Every other file of the run folder by its name. This file is written last.
    #[serde(default)]
    pub files: BTreeMap<String, FileDocument>,
    /// The network side in short; `network_report.json` has it in full.
    #[serde(default)]
    pub network: NetworkSummary,
    /// Token latencies and rate. Their keys are there in token runs alone.
    #[serde(flatten)]
    pub tokens: Option<TokensDocument>,
}

/// A file of the run folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FileDocument {
    /// Its length, bytes.
    pub bytes: u64,
    /// SHA-256 of its content, in hexadecimal digits.
    pub sha256: String,
}

impl FileDocument {
    /// Returns true when `content` is the content of the file.
    pub(crate) fn holds(&self, content: &str) -> bool {
        hex::encode(Sha256::digest(content)) == self.sha256
    }
}

/// A verdict on a run, as it stands in the files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "UPPERCASE")]
pub enum Validity {
    /// There is no reason against the result.
    Valid,
    /// There is at least one reason against the result.
    #[default]
    Invalid,
}

/// The number that counts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum MetricDocument {
    /// Of an accuracy run: its score.
    Accuracy(AccuracyDocument),
    /// Of a performance run.
    Performance(PerformanceMetric),
}

/// The metric of a performance run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PerformanceMetric {
    /// Its key in the official detail log, in performance runs; accuracy runs have the metric of accuracy.
    pub name: String,
    /// The number, in `unit`; null when too little was answered, or the latency that it is was never measured.
    pub value: Option<f64>,
    /// `ns` or `samples/s`.
    pub unit: String,
}

/// A stretch in which one end of the run stood still.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StallDocument {
    /// `loadgen`, or the name of the SUT node; of a node it can have been the way to it, too.
    pub end: String,
    /// When it began, ns from the start of the run.
    pub start_ns: u64,
    /// Length of the stall, ns.
    pub duration_ns: u64,
}

/// Measurements of token runs besides latencies.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TokensDocument {
    /// Time to first token; null where none was measured.
    #[serde(deserialize_with = "there_or_null")]
    pub ttft_ns: Option<LatencySpread>,
    /// Time per output token after the first; null where none was measured.
    #[serde(deserialize_with = "there_or_null")]
    pub tpot_ns: Option<LatencySpread>,
    /// Tokens per second; null where none came.
    #[serde(deserialize_with = "there_or_null")]
    pub tokens_per_s: Option<f64>,
}

/// Reads a key that must be there, but may be null. A missing key is an error, so that a run without tokens is told
/// apart from a token run that measured nothing.
fn there_or_null<'de, T: Deserialize<'de>, D: Deserializer<'de>>(from: D) -> Result<Option<T>, D::Error> {
    Option::deserialize(from)
}

impl From<&Finished> for ResultSummary {
    fn from(finished: &Finished) -> ResultSummary {
        let Finished { setup, outcome, nodes, judgement, .. } = finished;
        let verdict = &outcome.verdict;
        let accuracy = accuracy(finished);
        let (summary, plan) = (outcome.summary.as_ref(), setup.plan.effective());
        ResultSummary {
            result: Validity::of(verdict.is_valid()),
            official_result: verdict.official().map(Validity::of),
            interrupted: outcome.end == End::Interrupted,
            division: DivisionDocument::new(setup.division, &judgement.findings),
            marks: judgement.marks(),
            reasons: verdict.reasons().iter().map(|reason| reason.text.clone()).collect(),
            sut_name: nodes.last_name.text.clone(),
            metric: metric(finished, accuracy.as_ref()),
            find_peak: outcome.find_peak.as_ref().map(FindPeakDocument::from),
            accuracy,
            accuracy_note: finished.not_scored(),
            latency_ns: summary.map(|summary| LatencySpread::from(summary.judged_latency())),
            latency_limits: summary.map_or(Vec::new(), |summary| LimitDocument::all(summary, plan)),
            hints: finished.hints(),
            schedule_lag_ns: Some(LagDocument::from(outcome.lag())),
            schedule_lag_course: LagCourseDocument::from(outcome.lag_course()),
            stalls: judgement.stalls.iter().map(StallDocument::from).collect(),
            saturation: Some(SaturationDocument::new(&judgement.saturation, outcome, nodes.tally.refused())),
            bound: Some(BoundDocument::new(judgement.bound.as_ref(), &finished.network.evidence)),
            baseline: finished.tax().map(|(baseline, tax)| BaselineDocument::new(baseline, &tax)),
            counts: CountsDocument::new(outcome, &nodes.reports, finished.nan()),
            network: NetworkSummary::from(finished),
            sut: nodes.described.iter().map(SutNode::from).collect(),
            tokens: summary.and_then(TokensDocument::of),
            made: MadeDocument::new(setup, finished.started, finished.wall_time),
            ..ResultSummary::asked(setup)
        }
    }
}

impl ResultSummary {
    /// The rules by which traffic was drawn; none when the round is not known.
    pub(crate) fn profile(&self) -> Option<Profile> {
        let rules = Rules::find(&self.rules)?;
        Some(Profile { integers: self.integers, ..rules.profile })
    }

    /// Returns the result that stands in the folder until the run has ended, and for ever if the program is killed.
    pub(crate) fn unfinished(setup: &Setup) -> ResultSummary {
        let reason = "the run has not ended: it is going on, or this program was killed (a kernel that runs out of \
                      memory does so, too) or could not write its results; loadgen-node recover makes a result of \
                      what there is";
        ResultSummary { interrupted: true, reasons: vec![reason.to_owned()], ..ResultSummary::asked(setup) }
    }

    /// Returns a result with the request alone. Everything else is as of a run that has measured nothing.
    fn asked(setup: &Setup) -> ResultSummary {
        let Setup { benchmark, plan, .. } = setup;
        ResultSummary {
            schema: SCHEMA,
            unofficial: "results of this tool are unverified and are not official MLPerf results".to_owned(),
            loadgen_version: concat!("lon ", env!("CARGO_PKG_VERSION"), ", unofficial").to_owned(),
            division: DivisionDocument::new(setup.division, &Findings::default()),
            rules: setup.rules.round.name.to_owned(),
            integers: plan.profile().integers,
            benchmark: benchmark.name.to_owned(),
            benchmark_file: benchmark.file.as_ref().map(|path| path.display().to_string()),
            dataset: setup.dataset_name.clone(),
            dataset_sums_sha256: setup.planned.data.as_ref().and_then(|data| data.sums_sha256.clone()),
            preprocess: setup.planned.preprocess.clone(),
            scenario: setup.scenario().name().to_owned(),
            mode: plan.requested().mode.name().to_owned(),
            settings: plan.requested().clone(),
            made: MadeDocument::new(setup, SystemTime::now(), Duration::ZERO),
            ..ResultSummary::default()
        }
    }

    /// Returns the facts that the rules of the Network division ask of an accuracy run, from its folder.
    pub(crate) fn accuracy_run(&self, folder: &Path) -> AccuracyRun {
        let NetworkSummary { nodes, codec, response_codec, .. } = &self.network;
        let mut options: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (name, value) in self.sut.iter().flat_map(|node| &node.setup.settings) {
            options.entry(name.clone()).or_default().insert(value.clone());
        }
        AccuracyRun {
            folder: folder.display().to_string(),
            is_valid: self.result == Validity::Valid || self.lacks_only_a_score(),
            benchmark: self.benchmark.clone(),
            scenario: self.scenario.clone(),
            dataset: self.dataset.clone(),
            dataset_sums_sha256: self.dataset_sums_sha256.clone(),
            round: self.rules.clone(),
            score: self.accuracy.as_ref().map(|accuracy| accuracy.value),
            other_scores: self.accuracy.iter().flat_map(AccuracyDocument::official_others).collect(),
            official: None,
            log_sha256: self.files.get("mlperf_log_accuracy.json").map(|file| file.sha256.clone()),
            samples: self.accuracy.as_ref().map_or(self.counts.completed, |accuracy| accuracy.samples as u64),
            engines: nodes.iter().map(|node| identity::engine(&node.engine).to_owned()).collect(),
            models: nodes.iter().map(|node| identity::model(&node.model, &node.model_sha256)).collect(),
            machines: self.sut.iter().filter_map(|node| machine(&node.host)).collect(),
            preprocess: self.preprocess.clone(),
            options,
            settings: division::fields(&self.settings),
            codecs: [codec.clone(), response_codec.clone()],
        }
    }

    /// Returns true when this is the result that stands in the folder of a run until the run has ended.
    pub(crate) fn is_unfinished(&self) -> bool {
        self.interrupted && self.files.is_empty()
    }

    /// Returns the result of a run that was killed, as far as it is known. `judged` comes from the records of its
    /// samples, if there were any. `search` is there if it was a search for the peak of which a trial had ended.
    pub(crate) fn recovered(
        self,
        stored: Option<&StoredTimeline>,
        judged: Option<&Rejudged>,
        search: Option<&SearchRecord>,
        why: &str,
    ) -> ResultSummary {
        let verdict = judged.map(|judged| &judged.verdict);
        let reasons = verdict.map(|verdict| verdict.reasons().iter().map(|reason| reason.text.clone()).collect());
        let summary = judged.map(|judged| &judged.summary);
        ResultSummary {
            official_result: verdict.and_then(Verdict::official).map(Validity::of),
            reasons: reasons.unwrap_or_else(|| vec![why.to_owned()]),
            sut_name: stored.map_or(String::new(), |stored| stored.about.sut_name.clone()),
            metric: summary.map(MetricDocument::of),
            find_peak: search.map(FindPeakDocument::from),
            latency_ns: summary.map(|summary| LatencySpread::from(summary.judged_latency())),
            latency_limits: judged.map_or(Vec::new(), |judged| LimitDocument::all(&judged.summary, &judged.effective)),
            counts: stored.map_or(self.counts, |stored| CountsDocument::of(&stored.timeline.counts)),
            tokens: summary.and_then(TokensDocument::of),
            ..self
        }
    }

    /// With these files in the folder.
    pub(crate) fn with_files(mut self, files: &[Written]) -> ResultSummary {
        self.files = FileDocument::by_name(files);
        self
    }
}

impl FileDocument {
    /// These files by their names.
    pub(super) fn by_name(files: &[Written]) -> BTreeMap<String, FileDocument> {
        let document = |Written { name, bytes, sha256 }: &Written| {
            (name.clone(), FileDocument { bytes: *bytes, sha256: sha256.clone() })
        };
        files.iter().map(document).collect()
    }
}

/// Returns the identity of a node's machine. `None` in results of earlier versions, which do not have it.
fn machine(host: &HostDocument) -> Option<String> {
    let devices = host.accelerators.iter().map(|accelerator| accelerator.device.as_str());
    (*host != HostDocument::default()).then(|| identity::machine(&host.cpu, devices))
}

/// The metric of a performance run, else the score of an accuracy run.
fn metric(finished: &Finished, accuracy: Option<&AccuracyDocument>) -> Option<MetricDocument> {
    let Some(summary) = &finished.outcome.summary else {
        return accuracy.cloned().map(MetricDocument::Accuracy);
    };
    Some(MetricDocument::of(summary))
}

/// The score, where there is one.
fn accuracy(finished: &Finished) -> Option<AccuracyDocument> {
    let score = finished.judgement.score.as_ref()?.as_ref().ok()?;
    Some(AccuracyDocument::new(score, finished.setup.benchmark.accuracy?))
}

impl MetricDocument {
    fn of(summary: &Summary) -> MetricDocument {
        let metric = summary.metric;
        MetricDocument::Performance(PerformanceMetric {
            name: metric.name.to_owned(),
            value: metric.value,
            unit: metric.unit.to_owned(),
        })
    }
}

impl Validity {
    pub(crate) fn of(valid: bool) -> Validity {
        if valid { Validity::Valid } else { Validity::Invalid }
    }
}

impl From<&Stall> for StallDocument {
    fn from(stall: &Stall) -> StallDocument {
        let Stall { end, start_ns, duration_ns } = stall.clone();
        StallDocument { end, start_ns, duration_ns }
    }
}

impl TokensDocument {
    /// Returns the token measurements. `None` unless the run is judged by its tokens.
    fn of(summary: &Summary) -> Option<TokensDocument> {
        let tokens = summary.tokens.as_ref()?;
        let spread = |stats| Some(LatencySpread::from(stats));
        Some(TokensDocument {
            ttft_ns: spread(&tokens.first_token).filter(|_| tokens.first_token.count > 0),
            tpot_ns: spread(&tokens.per_token).filter(|_| tokens.per_token.count > 0),
            tokens_per_s: tokens::rate(summary),
        })
    }
}
