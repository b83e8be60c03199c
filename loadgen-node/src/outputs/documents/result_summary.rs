//! `result_summary.json`: the result of a run, its reasons and its settings. The command `accuracy` reads it back.
//!
//! Folders of earlier versions are read, too: of their keys only those that say what was run must be there.

use qdl::{NodeCounts, NodeReport};
use serde::{Deserialize, Deserializer, Serialize};

use super::accuracy::AccuracyDocument;
use super::baseline::BaselineDocument;
use super::network_summary::NetworkSummary;
use super::parts::{LatencySpread, to_thousandths};
use crate::outputs::tokens;
use crate::test_run::finished::{Finished, Setup};
use crate::verdict::saturation::Saturation;
use loadgen::judge::Summary;
use loadgen::run::{Bracket, End, FindPeakOutcome, LagStats, RunOutcome, SearchEnd, Trial};
use loadgen::settings::TestSettings;

/// Name in the run folder.
pub const FILE: &str = "result_summary.json";

/// The version of [`ResultSummary`].
const SCHEMA: u32 = 1;

/// The whole file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ResultSummary {
    /// Version of this form: 1.
    #[serde(default)]
    pub schema: u32,
    /// The strict verdict: the official rules, and the node's own reasons.
    #[serde(default)]
    pub result: Validity,
    /// The verdict of the official rules alone; null where they judge nothing, as in accuracy runs.
    pub official_result: Option<Validity>,
    /// Whether a signal ended the run early.
    #[serde(default)]
    pub interrupted: bool,
    /// Says that this is no official result.
    #[serde(default)]
    pub unofficial: String,
    /// This program and its version.
    #[serde(default)]
    pub loadgen_version: String,
    /// The division whose rules were kept: `network` or `open`.
    #[serde(default)]
    pub division: String,
    /// Why this is no result of the Network division, in words; empty where it is one.
    #[serde(default)]
    pub marks: Vec<String>,
    /// The round of MLPerf whose rules applied.
    #[serde(default)]
    pub rules: String,
    /// The benchmark's name.
    pub benchmark: String,
    /// The benchmark's file, where it is one of the user's; null: it is built in.
    pub benchmark_file: Option<String>,
    /// The dataset: a path, a built-in name, or `synthetic:` with what was generated.
    pub dataset: String,
    /// The scenario's official name.
    #[serde(default)]
    pub scenario: String,
    /// The official name of the mode that was asked for.
    pub mode: String,
    /// What the SUT called itself after the run.
    #[serde(default)]
    pub sut_name: String,
    /// The number that counts; null where nothing was measured.
    pub metric: Option<MetricDocument>,
    /// The search for the peak; null in runs of other modes.
    pub find_peak: Option<FindPeakDocument>,
    /// How right the answers were; null where nothing was scored.
    pub accuracy: Option<AccuracyDocument>,
    /// Why an accuracy run has no score; null where it has one, and in runs of other modes.
    pub accuracy_note: Option<String>,
    /// Latencies that the verdict is about; null where nothing was judged.
    pub latency_ns: Option<LatencySpread>,
    /// How late samples were sent.
    #[serde(default)]
    pub schedule_lag_ns: LagDocument,
    /// How near to its limits the LoadGen node was.
    #[serde(default)]
    pub saturation: SaturationDocument,
    /// What the network cost against the same backend without one; null without `--baseline`.
    pub baseline: Option<BaselineDocument>,
    /// How many samples were issued and how they ended.
    #[serde(default)]
    pub counts: CountsDocument,
    /// Why the strict verdict is INVALID, in words; empty: it is VALID.
    #[serde(default)]
    pub reasons: Vec<String>,
    /// The settings as requested.
    #[serde(default)]
    pub settings: TestSettings,
    /// The network side in short; `network_report.json` has it in full.
    #[serde(default)]
    pub network: NetworkSummary,
    /// Token latencies and rate. Their keys are there in token runs alone.
    #[serde(flatten)]
    pub tokens: Option<TokensDocument>,
}

/// A verdict on a run, as it stands in the files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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
#[serde(untagged)]
pub enum MetricDocument {
    /// Of an accuracy run: its score.
    Accuracy(AccuracyDocument),
    /// Of a performance run.
    Performance(PerformanceMetric),
}

/// The metric of a performance run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PerformanceMetric {
    /// Its key in the official detail log.
    pub name: String,
    /// The number, in `unit`; null when too little was answered.
    pub value: Option<f64>,
    /// `ns` or `samples/s`.
    pub unit: String,
}

/// A search for the highest rate that meets the latency target. `find_peak.json` has what is needed to go on with it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FindPeakDocument {
    /// How the search ended.
    pub end: SearchEnd,
    /// The highest rate that passed and the lowest that failed.
    pub bracket: Bracket,
    /// Every rate that was tried, in order.
    pub trials: Vec<Trial>,
}

/// Time between when samples were due and when they were sent, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LagDocument {
    /// The 50th percentile, ns.
    pub p50: u64,
    /// The 99th percentile, ns.
    pub p99: u64,
    /// The largest lag, ns.
    pub max: u64,
}

/// How near to its limits the LoadGen node was while it measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SaturationDocument {
    /// Samples under way.
    pub in_flight: InFlightDocument,
    /// Samples that found every node full.
    pub refused: u64,
    /// Cores that the issuing thread used on average, to a thousandth; at most 1, and 1 while it spins.
    pub issuer_cores: f64,
    /// Cores that the whole process used on average, to a thousandth.
    pub process_cores: f64,
    /// Threads for the network beside the issuing one; 0: that one does it all.
    pub io_threads: usize,
    /// How long before a due time the issuing thread stops sleeping and spins, ns.
    pub spin_ns: u64,
}

/// Samples under way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InFlightDocument {
    /// Most at any moment.
    pub max: u64,
    /// How many all nodes together take.
    pub limit: u64,
}

/// Counts of samples and answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CountsDocument {
    /// Samples that were issued.
    pub issued: u64,
    /// Samples that were answered.
    pub completed: u64,
    /// Samples that failed or were lost.
    pub failed: u64,
    /// Answers to samples that had been answered.
    pub duplicate: u64,
    /// Answers to samples that had been given up.
    pub late: u64,
    /// Answers with a NaN in the model's outputs, as the nodes counted them; null where no node could be asked.
    pub nan: Option<u64>,
    /// Answers to samples that were never sent.
    pub foreign: u64,
}

/// What token runs measure besides latencies.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
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
        let Setup { benchmark, plan, .. } = setup;
        let verdict = &outcome.verdict;
        let accuracy = accuracy(finished);
        let summary = outcome.summary.as_ref();
        ResultSummary {
            schema: SCHEMA,
            result: Validity::of(verdict.is_valid()),
            official_result: verdict.official.map(Validity::of),
            interrupted: outcome.end == End::Interrupted,
            unofficial: "results of this tool are unverified and are not official MLPerf results".to_owned(),
            loadgen_version: concat!("lon ", env!("CARGO_PKG_VERSION"), ", unofficial").to_owned(),
            division: setup.division.name().to_owned(),
            marks: judgement.marks.clone(),
            rules: setup.rules.round.name.to_owned(),
            benchmark: benchmark.name.to_owned(),
            benchmark_file: benchmark.file.as_ref().map(|path| path.display().to_string()),
            dataset: setup.dataset_name.clone(),
            scenario: setup.scenario().name().to_owned(),
            mode: plan.requested().mode.name().to_owned(),
            sut_name: nodes.last_name.text.clone(),
            metric: metric(finished, accuracy.as_ref()),
            find_peak: outcome.find_peak.as_ref().map(FindPeakDocument::from),
            accuracy,
            accuracy_note: finished.not_scored(),
            latency_ns: summary.map(|summary| LatencySpread::from(summary.judged_latency())),
            schedule_lag_ns: LagDocument::from(outcome.lag()),
            saturation: SaturationDocument::new(&judgement.saturation, outcome, nodes.tally.refused()),
            baseline: finished.tax().map(|(baseline, tax)| BaselineDocument::new(baseline, &tax)),
            counts: CountsDocument::new(outcome, &nodes.reports, finished.nan()),
            reasons: verdict.reasons.iter().map(|reason| reason.text.clone()).collect(),
            settings: plan.requested().clone(),
            network: NetworkSummary::from(finished),
            tokens: summary.and_then(TokensDocument::of),
        }
    }
}

/// The metric of a performance run, else the score of an accuracy run.
fn metric(finished: &Finished, accuracy: Option<&AccuracyDocument>) -> Option<MetricDocument> {
    let Some(summary) = &finished.outcome.summary else {
        return accuracy.cloned().map(MetricDocument::Accuracy);
    };
    let metric = summary.metric;
    Some(MetricDocument::Performance(PerformanceMetric {
        name: metric.name.to_owned(),
        value: finished.metric_value(&metric),
        unit: metric.unit.to_owned(),
    }))
}

/// The score, where there is one.
fn accuracy(finished: &Finished) -> Option<AccuracyDocument> {
    let score = finished.judgement.score.as_ref()?.as_ref().ok()?;
    Some(AccuracyDocument::new(*score, finished.setup.benchmark.accuracy?))
}

impl Validity {
    fn of(valid: bool) -> Validity {
        if valid { Validity::Valid } else { Validity::Invalid }
    }
}

impl From<&FindPeakOutcome> for FindPeakDocument {
    fn from(search: &FindPeakOutcome) -> FindPeakDocument {
        FindPeakDocument { end: search.end.clone(), bracket: search.bracket, trials: search.trials.clone() }
    }
}

impl From<LagStats> for LagDocument {
    fn from(lag: LagStats) -> LagDocument {
        LagDocument { p50: lag.p50_ns, p99: lag.p99_ns, max: lag.max_ns }
    }
}

impl SaturationDocument {
    fn new(saturation: &Saturation, outcome: &RunOutcome, refused: u64) -> SaturationDocument {
        let pending = outcome.phases.iter().map(|phase| phase.max_pending);
        SaturationDocument {
            in_flight: InFlightDocument { max: pending.max().unwrap_or(0), limit: saturation.capacity },
            refused,
            issuer_cores: to_thousandths(saturation.issuer_cores),
            process_cores: to_thousandths(saturation.process_cores),
            io_threads: saturation.pacing.io_threads,
            spin_ns: u64::try_from(saturation.pacing.spin.as_nanos()).unwrap_or(u64::MAX),
        }
    }
}

impl CountsDocument {
    /// What the engine and the QDL counted; `nan`: what the nodes did.
    fn new(outcome: &RunOutcome, reports: &[NodeReport], nan: Option<u64>) -> CountsDocument {
        let counts = outcome.counts();
        let sum = |count: fn(&NodeCounts) -> u64| reports.iter().map(|report| count(&report.counts)).sum::<u64>();
        CountsDocument {
            issued: counts.issued,
            completed: counts.completed,
            failed: counts.failed + counts.lost,
            duplicate: counts.duplicate + sum(|counts| counts.duplicate),
            late: counts.late + sum(|counts| counts.late),
            nan,
            foreign: counts.unknown + sum(|counts| counts.foreign),
        }
    }
}

impl TokensDocument {
    /// None unless the run is judged by its tokens.
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
