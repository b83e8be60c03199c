//! `result_summary.json`: the result of a run, its reasons and its settings. The command `accuracy` reads it back.
//!
//! Folders of earlier versions are read, too: of their keys only those that say what was run must be there.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, SystemTime};

use lon_machine::host::Host;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::accuracy::AccuracyDocument;
use super::arrivals::ArrivalsDocument;
use super::bench_baseline::BaselineDocument;
use super::bursts::BurstsDocument;
use super::counts::CountsDocument;
use super::division::DivisionDocument;
use super::find_peak::FindPeakDocument;
use super::lag::LagDocument;
use super::limiting_cause::BoundDocument;
pub use super::metric::{MetricDocument, PerformanceMetric};
use super::network_summary::NetworkSummary;
use super::parts::LatencySpread;
use super::provenance::MadeDocument;
use super::saturation::SaturationDocument;
use super::sut_setup::SutNode;
pub use super::token_figures::TokensDocument;
use super::v05_intervals::IntervalsDocument;
pub use super::validity::Validity;
use super::within::WithinDocument;
use crate::division::{self, AccuracyRun, Findings, identity};
use crate::outputs::run_folder::folder::FileEntry;
use crate::test_run::finished::{Finished, Setup};
use crate::verdict::limits::LatencyLimit;
use loadgen::conf::rules::Rules;
use loadgen::judge::{Reason, Summary, UsersSummary, Verdict};
use loadgen::plan::Effective;
use loadgen::recorder::{LagCourse, StoredTimeline};
use loadgen::run::{End, SearchRecord};
use loadgen::settings::{IntegerRule, Profile, TestSettings};
use loadgen::v05::settings::Settings;
use loadgen::vectors::Rejudged;
use lon_world::stall::Stall;

/// Name in the run folder.
pub const FILE: &str = "result_summary.json";

/// The version of [`ResultSummary`].
pub(super) const SCHEMA: u32 = 1;

/// Code of the reason against a run that has not ended.
const NOT_ENDED: &str = "not_ended";
/// Code of the reason against a run whose program was killed before anything was measured.
const KILLED: &str = "interrupted";

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
    /// Verdict of the log files in the official formats: the official rules, and every sample answered once. Rules of
    /// this program alone, such as those on stalls, lag and accuracy, do not count. Null where LoadGen judges nothing,
    /// as in accuracy runs.
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
    /// Rate of the answered samples over the time in which queries were due, samples/s: the rate of the schedule beside
    /// the completed one in `metric`. Null in scenarios without a schedule, and where nothing was measured.
    pub scheduled_samples_per_s: Option<f64>,
    /// Queries within all limits of `--within`; null without the flag. The verdict does not depend on them.
    pub within: Option<WithinDocument>,
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
    pub latency_limits: Vec<LatencyLimit>,
    /// Arrival process of the performance phase; null where no query has a due time, and in results of earlier
    /// versions.
    #[serde(default)]
    pub arrivals: Option<ArrivalsDocument>,
    /// Whole bursts; null in other scenarios than Burst.
    #[serde(default)]
    pub bursts: Option<BurstsDocument>,
    /// Users and their queries in flight; null in other scenarios than Closed.
    #[serde(default)]
    pub users: Option<UsersSummary>,
    /// Intervals between queries. The key is there in MultiStream of round v0.5 alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intervals: Option<IntervalsDocument>,
    /// Lateness of samples; null of a run that was killed, whose folder does not have it.
    pub schedule_lag_ns: Option<LagDocument>,
    /// Time for which samples waited behind others that were due at the same moment. It is no lateness of the LoadGen
    /// node. Null where no two are due at once.
    #[serde(default)]
    pub behind_others_ns: Option<LagDocument>,
    /// The largest lags over time, of the performance phase.
    #[serde(default)]
    pub schedule_lag_course: LagCourse,
    /// When either end stood still for half a second or more while samples were timed, in order.
    #[serde(default)]
    pub stalls: Vec<Stall>,
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
    /// Code of each reason, in the same order: a word for programs, such as `failed_samples`. Empty in results of
    /// earlier versions.
    #[serde(default)]
    pub reason_codes: Vec<String>,
    /// Settings to use instead where the run was too short or its rate too high, as `--set KEY=VALUE` with words around
    /// it.
    #[serde(default)]
    pub hints: Vec<String>,
    /// The settings as requested; those of round v0.5 by the names of today, as far as there are such.
    #[serde(default)]
    pub settings: TestSettings,
    /// The settings as requested by the names of round v0.5. The key is there in runs of that round alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings_v0_5: Option<Settings>,
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
    pub fn holds(&self, content: &str) -> bool {
        hex::encode(Sha256::digest(content)) == self.sha256
    }
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
            reasons: texts(verdict.reasons()),
            reason_codes: codes(verdict.reasons()),
            sut_name: nodes.last_name.text.clone(),
            metric: metric(finished, accuracy.as_ref()),
            scheduled_samples_per_s: summary.and_then(|summary| scheduled_rate(summary, plan)),
            within: judgement.within.as_ref().map(WithinDocument::from).or_else(|| unmeasured(setup)),
            find_peak: outcome.find_peak.as_ref().map(FindPeakDocument::from),
            accuracy,
            accuracy_note: finished.not_scored(),
            latency_ns: summary.map(|summary| LatencySpread::from(summary.judged_latency())),
            latency_limits: summary.map_or(Vec::new(), |summary| LatencyLimit::all(summary, plan)),
            intervals: finished.v05.as_ref().and_then(IntervalsDocument::of),
            hints: finished.hints(),
            schedule_lag_ns: Some(LagDocument::from(outcome.lag())),
            bursts: summary.and_then(|summary| summary.bursts.as_ref()).map(BurstsDocument::from),
            users: summary.and_then(|summary| summary.users),
            behind_others_ns: outcome.behind().map(LagDocument::from),
            schedule_lag_course: outcome.lag_course(),
            stalls: judgement.stalls.clone(),
            saturation: Some(SaturationDocument::new(&judgement.saturation, outcome, nodes.tally.refused())),
            bound: Some(BoundDocument::new(judgement.bound.as_ref(), &finished.network.evidence)),
            baseline: finished.tax().map(|(baseline, tax)| BaselineDocument::new(baseline, &tax)),
            counts: CountsDocument::new(outcome, &nodes.reports, finished.nan()),
            network: NetworkSummary::from(finished),
            sut: nodes.described.iter().map(SutNode::from).collect(),
            tokens: summary.and_then(TokensDocument::of),
            made: MadeDocument::new(setup, finished.started, finished.wall_time),
            ..ResultSummary::of_request(setup)
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
        let (reasons, reason_codes) = (vec![reason.to_owned()], vec![NOT_ENDED.to_owned()]);
        ResultSummary { interrupted: true, reasons, reason_codes, ..ResultSummary::of_request(setup) }
    }

    /// Returns a result with the request alone. Everything else is as of a run that has measured nothing.
    fn of_request(setup: &Setup) -> ResultSummary {
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
            arrivals: ArrivalsDocument::of(plan),
            within: unmeasured(setup),
            settings: plan.requested().clone(),
            settings_v0_5: setup.v05.as_ref().map(|test| test.settings.clone()),
            made: MadeDocument::new(setup, SystemTime::now(), Duration::ZERO),
            ..ResultSummary::default()
        }
    }

    /// Returns the facts that the rules of the Network division ask of an accuracy run, from its folder.
    pub fn accuracy_run(&self, folder: &Path) -> AccuracyRun {
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
    pub fn is_unfinished(&self) -> bool {
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
        let reasons = verdict.map(Verdict::reasons);
        let summary = judged.map(|judged| &judged.summary);
        let counted = |within: WithinDocument| {
            let (stored, judged) = stored.zip(judged)?;
            Some(WithinDocument::from(&within.limits().count(&stored.timeline, &judged.effective)))
        };
        ResultSummary {
            official_result: verdict.and_then(Verdict::official).map(Validity::of),
            reasons: reasons.map_or_else(|| vec![why.to_owned()], texts),
            reason_codes: reasons.map_or_else(|| vec![KILLED.to_owned()], codes),
            sut_name: stored.map_or(String::new(), |stored| stored.about.sut_name.clone()),
            metric: summary.map(MetricDocument::of),
            scheduled_samples_per_s: judged.and_then(|judged| scheduled_rate(&judged.summary, &judged.effective)),
            within: self.within.map(|within| counted(within).unwrap_or(within)),
            find_peak: search.map(FindPeakDocument::from),
            latency_ns: summary.map(|summary| LatencySpread::from(summary.judged_latency())),
            latency_limits: judged.map_or(Vec::new(), |judged| LatencyLimit::all(&judged.summary, &judged.effective)),
            bursts: summary.and_then(|summary| summary.bursts.as_ref()).map(BurstsDocument::from),
            users: summary.and_then(|summary| summary.users),
            counts: stored.map_or(self.counts, |stored| CountsDocument::of(&stored.timeline.counts)),
            tokens: summary.and_then(TokensDocument::of),
            ..self
        }
    }

    /// With these files in the folder.
    pub(crate) fn with_files(mut self, files: &[FileEntry]) -> ResultSummary {
        self.files = FileDocument::by_name(files);
        self
    }
}

impl FileDocument {
    /// These files by their names.
    pub(super) fn by_name(files: &[FileEntry]) -> BTreeMap<String, FileDocument> {
        let document = |FileEntry { name, bytes, sha256 }: &FileEntry| {
            (name.clone(), FileDocument { bytes: *bytes, sha256: sha256.clone() })
        };
        files.iter().map(document).collect()
    }
}

/// The sentences of these reasons.
pub(super) fn texts(reasons: &[Reason]) -> Vec<String> {
    reasons.iter().map(|reason| reason.text.clone()).collect()
}

/// The codes of these reasons.
pub(super) fn codes(reasons: &[Reason]) -> Vec<String> {
    reasons.iter().map(|reason| reason.code.clone()).collect()
}

/// The rate of the schedule, where the scenario has one and something was answered.
pub(crate) fn scheduled_rate(summary: &Summary, effective: &Effective) -> Option<f64> {
    let rate = summary.rates.scheduled_samples_per_s;
    // Of bursts the offered rate is told apart.
    let has_rate = effective.shape.has_schedule() && effective.shape.burst_size().is_none();
    (has_rate && rate.is_finite() && rate > 0.0).then_some(rate)
}

/// The limits of `--within`, before anything is measured.
fn unmeasured(setup: &Setup) -> Option<WithinDocument> {
    setup.within.as_ref().map(WithinDocument::unmeasured)
}

/// Returns the identity of a node's machine. `None` in results of earlier versions, which do not have it.
fn machine(host: &Host) -> Option<String> {
    let devices = host.accelerators.iter().map(|accelerator| accelerator.device.as_str());
    (*host != Host::default()).then(|| identity::machine(&host.cpu, devices))
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
