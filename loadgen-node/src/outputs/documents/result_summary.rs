//! `result_summary.json`: the result of a run, its reasons and its settings. The command `accuracy` reads it back.
//!
//! Folders of earlier versions are read, too: of their keys only those that say what was run must be there.

use lon_shell::documents::BenchOptions;
use qdl::{NodeCounts, NodeDescription, NodeReport};
use serde::{Deserialize, Deserializer, Serialize};

use super::accuracy::AccuracyDocument;
use super::parts::{
    BandwidthDocument, ByDirection, ByEnd, LatencySplit, LatencySpread, NameRoundTrip, message_bytes, name_round_trips,
    to_thousandths,
};
use crate::outputs::tokens;
use crate::test_run::finished::{Finished, Setup};
use crate::verdict::baseline::{Baseline, Tax};
use crate::verdict::saturation::Saturation;
use loadgen::judge::Summary;
use loadgen::run::{Bracket, SearchEnd, Trial};
use loadgen::run::{End, FindPeakOutcome, LagStats, RunOutcome};
use loadgen::settings::TestSettings;

/// Name in the run folder.
pub(crate) const FILE: &str = "result_summary.json";

/// The version of [`ResultSummary`].
const SCHEMA: u32 = 1;

/// The whole file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ResultSummary {
    /// Version of this form: 1.
    #[serde(default)]
    pub(crate) schema: u32,
    /// The strict verdict: the official rules, and the node's own reasons.
    #[serde(default)]
    pub(crate) result: Validity,
    /// The verdict of the official rules alone; null where they judge nothing, as in accuracy runs.
    pub(crate) official_result: Option<Validity>,
    /// Whether a signal ended the run early.
    #[serde(default)]
    pub(crate) interrupted: bool,
    /// Says that this is no official result.
    #[serde(default)]
    pub(crate) unofficial: String,
    /// This program and its version.
    #[serde(default)]
    pub(crate) loadgen_version: String,
    /// The division whose rules were kept: `network` or `open`.
    #[serde(default)]
    pub(crate) division: String,
    /// Why this is no result of the Network division, in words; empty: nothing speaks against it.
    #[serde(default)]
    pub(crate) marks: Vec<String>,
    /// The round of MLPerf whose rules applied.
    #[serde(default)]
    pub(crate) rules: String,
    /// The benchmark's name.
    pub(crate) benchmark: String,
    /// The benchmark's file, where it is one of the user's; null: it is built in.
    pub(crate) benchmark_file: Option<String>,
    /// The dataset: a path, a built-in name, or `synthetic:` with what was generated.
    pub(crate) dataset: String,
    /// The scenario's official name.
    #[serde(default)]
    pub(crate) scenario: String,
    /// The official name of the mode that was asked for.
    pub(crate) mode: String,
    /// What the SUT called itself after the run.
    #[serde(default)]
    pub(crate) sut_name: String,
    /// The number that counts; null where nothing was measured.
    pub(crate) metric: Option<MetricDocument>,
    /// The search for the peak; null in runs of other modes.
    pub(crate) find_peak: Option<FindPeakDocument>,
    /// How right the answers were; null where nothing was scored.
    pub(crate) accuracy: Option<AccuracyDocument>,
    /// Why an accuracy run has no score; null: it has one, or the run is none.
    pub(crate) accuracy_note: Option<String>,
    /// Latencies that the verdict is about; null where nothing was judged.
    pub(crate) latency_ns: Option<LatencySpread>,
    /// How late samples were sent.
    #[serde(default)]
    pub(crate) schedule_lag_ns: LagDocument,
    /// How near to its limits the LoadGen node was.
    #[serde(default)]
    pub(crate) saturation: SaturationDocument,
    /// What the network cost against the same backend without one; null without `--baseline`.
    pub(crate) baseline: Option<BaselineDocument>,
    /// Samples.
    #[serde(default)]
    pub(crate) counts: CountsDocument,
    /// Why the strict verdict is INVALID, in words; empty: it is VALID.
    #[serde(default)]
    pub(crate) reasons: Vec<String>,
    /// The settings as requested.
    #[serde(default)]
    pub(crate) settings: TestSettings,
    /// The network side in short; `network_report.json` has it in full.
    #[serde(default)]
    pub(crate) network: NetworkSummary,
    /// Token latencies and rate. Their keys are there in token runs alone.
    #[serde(flatten)]
    pub(crate) tokens: Option<TokensDocument>,
}

/// A verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub(crate) enum Validity {
    /// Nothing speaks against the result.
    Valid,
    /// Something does.
    #[default]
    Invalid,
}

/// The number that counts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum MetricDocument {
    /// Of an accuracy run: its score.
    Accuracy(AccuracyDocument),
    /// Of a performance run.
    Performance(PerformanceMetric),
}

/// The metric of a performance run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct PerformanceMetric {
    /// Its key in the official detail log.
    pub(crate) name: String,
    /// The number, in `unit`; null when too little was answered.
    pub(crate) value: Option<f64>,
    /// `ns` or `samples/s`.
    pub(crate) unit: String,
}

/// A search for the highest rate that meets the latency target. `find_peak.json` has what is needed to go on with it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct FindPeakDocument {
    /// How the search ended.
    pub(crate) end: SearchEnd,
    /// The highest rate that passed and the lowest that failed.
    pub(crate) bracket: Bracket,
    /// Every rate that was tried, in order.
    pub(crate) trials: Vec<Trial>,
}

/// Time between when samples were due and when they were sent, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LagDocument {
    /// 50th percentile.
    pub(crate) p50: u64,
    /// 99th percentile.
    pub(crate) p99: u64,
    /// Largest.
    pub(crate) max: u64,
}

/// How near to its limits the LoadGen node was while it measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct SaturationDocument {
    /// Samples under way.
    pub(crate) in_flight: InFlightDocument,
    /// Samples that found every node full.
    pub(crate) refused: u64,
    /// Cores that the issuing thread used on average, to a thousandth; at most 1, and 1 while it spins.
    pub(crate) issuer_cores: f64,
    /// Cores that the whole process used on average, to a thousandth.
    pub(crate) process_cores: f64,
    /// Threads for the network beside the issuing one; 0: that one does it all.
    pub(crate) io_threads: usize,
    /// How long before a due time the issuing thread stops sleeping and spins, ns.
    pub(crate) spin_ns: u64,
}

/// Samples under way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct InFlightDocument {
    /// Most at any moment.
    pub(crate) max: u64,
    /// How many all nodes together take.
    pub(crate) limit: u64,
}

/// What the network cost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct BaselineDocument {
    /// Path of the file that `--baseline` named.
    pub(crate) file: String,
    /// The program that measured it, and its version.
    pub(crate) software: String,
    /// What its samples were.
    pub(crate) samples: String,
    /// How its backend was set up, for people to compare: a node does not tell its own options.
    pub(crate) options: BenchOptions,
    /// Rate of the run over that of as many backends without a network; null in scenarios whose rate is what was asked.
    pub(crate) throughput_ratio: Option<f64>,
    /// The two rates; null where the ratio is.
    pub(crate) samples_per_s: Option<RatesDocument>,
    /// Latency of the run minus that of one sample at a time without a network; null in scenarios whose latency is not
    /// that of one sample.
    pub(crate) added_latency_ns: Option<AddedLatency>,
}

/// Two rates, samples/s.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct RatesDocument {
    /// Of as many backends as the run had nodes, without a network.
    pub(crate) baseline: f64,
    /// Of the run.
    pub(crate) run: f64,
}

/// Differences of latency percentiles, ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AddedLatency {
    /// 50th percentile.
    pub(crate) p50: i64,
    /// 90th percentile.
    pub(crate) p90: i64,
    /// 95th percentile.
    pub(crate) p95: i64,
    /// 97th percentile.
    pub(crate) p97: i64,
    /// 99th percentile.
    pub(crate) p99: i64,
    /// 99.9th percentile.
    pub(crate) p99_9: i64,
}

/// Counts of samples and answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CountsDocument {
    /// Samples issued.
    pub(crate) issued: u64,
    /// Samples answered.
    pub(crate) completed: u64,
    /// Samples that failed or were lost.
    pub(crate) failed: u64,
    /// Answers to samples that had been answered.
    pub(crate) duplicate: u64,
    /// Answers to samples that had been given up.
    pub(crate) late: u64,
    /// Answers with a NaN in the model's outputs, as the nodes counted them; null where no node could be asked.
    pub(crate) nan: Option<u64>,
    /// Answers to samples that were never sent.
    pub(crate) foreign: u64,
}

/// The network side in short.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct NetworkSummary {
    /// How samples and answers travelled: `grpc`, `tcp`, `quic` or `kserve`.
    pub(crate) transport: String,
    /// Whether the nodes were verified by their certificates and nobody could read along.
    pub(crate) tls: bool,
    /// The codec of samples; `none` without.
    pub(crate) codec: String,
    /// The codec of answers; `none` without.
    pub(crate) response_codec: String,
    /// Connections to each node.
    pub(crate) connections: u64,
    /// Each node.
    pub(crate) nodes: Vec<NodeSummary>,
    /// Every round trip for a name, before the run and after it, in the order of the nodes.
    pub(crate) name_round_trips: Vec<NameRoundTrip>,
    /// Where the latency went.
    pub(crate) latency_split_ns: LatencySplit,
    /// What the rules require of the network, and what it gives.
    pub(crate) bandwidth_gbit_s: BandwidthDocument,
}

/// One node: what it is, and what crossed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct NodeSummary {
    /// Its unique name.
    pub(crate) name: String,
    /// Its address, `host:port`.
    pub(crate) address: String,
    /// The name of its machine; empty where it does not tell.
    pub(crate) hostname: String,
    /// Its program and version.
    pub(crate) software: String,
    /// What runs its model, with its version.
    pub(crate) engine: String,
    /// Its model's name.
    pub(crate) model: String,
    /// SHA-256 of its model file, hexadecimal; empty where there is no file.
    pub(crate) model_sha256: String,
    /// Its model's outputs, by which answers are scored: `name dtype[dims]`, separated by commas; empty: not known.
    pub(crate) outputs: String,
    /// Samples sent to it.
    pub(crate) samples: u64,
    /// Serialized Dispatch messages.
    pub(crate) message_bytes: ByDirection<ByEnd>,
    /// Why the node was lost; null: it was not.
    pub(crate) lost: Option<String>,
}

/// What token runs measure besides latencies.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct TokensDocument {
    /// Time to first token; null where none was measured.
    #[serde(deserialize_with = "there_or_null")]
    pub(crate) ttft_ns: Option<LatencySpread>,
    /// Time per output token after the first; null where none was measured.
    #[serde(deserialize_with = "there_or_null")]
    pub(crate) tpot_ns: Option<LatencySpread>,
    /// Tokens per second; null where none came.
    #[serde(deserialize_with = "there_or_null")]
    pub(crate) tokens_per_s: Option<f64>,
}

/// Null is a value, but no key is none: so a run without tokens is told from one that measured none.
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

impl BaselineDocument {
    fn new(baseline: &Baseline, tax: &Tax) -> BaselineDocument {
        let Baseline { path, report } = baseline;
        BaselineDocument {
            file: path.display().to_string(),
            software: report.software.clone(),
            samples: report.samples.what.clone(),
            options: report.options.clone(),
            throughput_ratio: tax.ratio(),
            samples_per_s: tax.rates.map(|(baseline, run)| RatesDocument { baseline, run }),
            added_latency_ns: tax.added_ns.map(AddedLatency::from),
        }
    }
}

impl From<[i64; 6]> for AddedLatency {
    fn from([p50, p90, p95, p97, p99, p99_9]: [i64; 6]) -> AddedLatency {
        AddedLatency { p50, p90, p95, p97, p99, p99_9 }
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

impl From<&Finished> for NetworkSummary {
    fn from(finished: &Finished) -> NetworkSummary {
        let setup = &finished.setup;
        let (nodes, reports) = (&finished.nodes.described, &finished.nodes.reports);
        NetworkSummary {
            transport: setup.link.transport.name().to_owned(),
            tls: setup.link.has_tls,
            codec: setup.codecs.samples.to_string(),
            response_codec: setup.codecs.answers.to_string(),
            connections: setup.link.connections.get() as u64,
            nodes: nodes.iter().zip(reports).map(|(node, report)| NodeSummary::new(node, report)).collect(),
            name_round_trips: name_round_trips(finished),
            latency_split_ns: LatencySplit::from(&finished.nodes.tally),
            bandwidth_gbit_s: BandwidthDocument::from(&finished.network.bandwidth),
        }
    }
}

impl NodeSummary {
    fn new(node: &NodeDescription, report: &NodeReport) -> NodeSummary {
        NodeSummary {
            name: node.name.clone(),
            address: node.address.to_string(),
            hostname: node.host.hostname.clone(),
            software: node.software.clone(),
            engine: node.engine.clone(),
            model: node.model.clone(),
            model_sha256: node.model_sha256.clone(),
            outputs: node.outputs.to_string(),
            samples: report.counts.samples_sent,
            message_bytes: message_bytes(std::slice::from_ref(report)),
            lost: report.lost.as_ref().map(ToString::to_string),
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
