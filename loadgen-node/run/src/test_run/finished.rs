//! A test that is over, in a few parts. Every document and the screen are made of this and of nothing else.

use std::num::NonZeroUsize;
use std::time::{Duration, SystemTime};

use lon_qsl::accuracy::{Score, ScoreError};
use lon_qsl::bandwidth::Formula;
use lon_qsl::benchmark::Benchmark;
use qdl::{Host, NodeDescription, NodeReport, SutName, Transport};

use super::spec::{Call, Codecs, Limits};
use super::system_facts::SystemFacts;
use crate::division::{Division, Findings, Planned};
use crate::exit::Exit;
use crate::network::NetworkFacts;
use crate::verdict::bench_baseline::{Baseline, Tax};
use crate::verdict::hints;
use crate::verdict::lag_limit::LagLimit;
use crate::verdict::limiting_cause::Bound;
use crate::verdict::reasons;
use crate::verdict::saturation::Saturation;
use crate::verdict::within::{Within, WithinLimits};
use loadgen::conf::rules::Rules;
use loadgen::plan::Plan;
use loadgen::run::{End, FindPeakOutcome, RunOutcome, SearchEnd};
use loadgen::settings::{Assigned, Scenario, TestSettings};
use loadgen::v05::test::{TestInput, TestOutcome};
use lon_world::stall::Stall;
use lon_world::tally::Tally;

/// A test that is over, however it ended.
pub struct Finished {
    /// The test that was asked for.
    pub setup: Setup,
    /// When the clock of the run started.
    pub started: SystemTime,
    /// From then until the engine was done.
    pub wall_time: Duration,
    /// The measurements of the engine, with the verdict: its own reasons, and those that the node added.
    pub outcome: RunOutcome,
    /// The same by the rules of round v0.5, where its engine has led the run.
    pub v05: Option<TestOutcome>,
    /// Both ends: this machine, and the nodes with what they answered and counted.
    pub nodes: Nodes,
    /// The facts of the network: the traffic that crossed it and the limits that it set.
    pub network: NetworkFacts,
    /// The judgement of the node besides the engine's verdict.
    pub judgement: Judgement,
}

/// The test that was asked for, as the checks before the run left it.
pub struct Setup {
    pub benchmark: &'static Benchmark,
    pub dataset_name: String,
    /// Which items of the dataset each sample has; none: one each.
    pub aggregation: Option<String>,
    pub codecs: Codecs,
    pub plan: Plan,
    /// The round whose rules apply.
    pub rules: &'static Rules,
    /// The test as the engine of round v0.5 has it; `plan` shows it by the names of today. None of another round.
    pub v05: Option<TestInput>,
    pub division: Division,
    /// The plan against which the rules of the Network division are checked.
    pub planned: Planned,
    pub link: Link,
    /// The limits of the run beside the official rules.
    pub limits: Limits,
    /// Limits of latencies that queries are held against, beside the verdict.
    pub within: Option<WithinLimits>,
    /// The limit of the LoadGen node's lateness.
    pub lag_limit: LagLimit,
    /// The call of the program.
    pub call: Call,
    /// The setting that a look at the nodes has found, and how.
    pub auto_setting: Option<AutoSetting>,
    /// The facts of the system that the user states.
    pub stated: SystemFacts,
    /// The performance of the same backend without a network.
    pub baseline: Option<Baseline>,
    /// True when the trace log is written, too.
    pub trace_log: bool,
    /// True when node and stages of each sample are kept.
    pub record_stages: bool,
    /// True when the page is written, too.
    pub report: bool,
    /// The run went on until others had what they needed.
    pub beside_others: bool,
    /// The formula of the bandwidth that is required, with the types of what the nodes take and give.
    pub bandwidth: Option<Formula>,
}

/// A setting that was looked for.
#[derive(Clone, Debug)]
pub struct AutoSetting {
    /// As an assignment.
    pub(crate) set: String,
    /// The way in which it was found, and what bounds it, in words.
    pub(crate) how: String,
}

/// The connection over which samples and answers travelled.
pub struct Link {
    pub(crate) transport: Transport,
    /// Nodes were verified by their certificates, and nobody could read along.
    pub(crate) has_tls: bool,
    /// Connections to each node.
    pub(crate) connections: NonZeroUsize,
}

/// Both ends of a run.
pub struct Nodes {
    /// The LoadGen node's machine.
    pub host: Host,
    /// The SUT nodes, as they described themselves before the run.
    pub described: Vec<NodeDescription>,
    /// The counts of both ends, in the order of the nodes.
    pub reports: Vec<NodeReport>,
    /// The SUT's name, asked before the run.
    pub first_name: SutName,
    /// The SUT's name, asked after the run.
    pub last_name: SutName,
    /// Why samples failed, and where the time of the others went.
    pub tally: Tally,
}

/// The judgement of the node besides the engine's verdict.
pub struct Judgement {
    /// The things that could not be checked, in words that every output repeats.
    pub(crate) notes: Vec<String>,
    /// The findings on the rules of the Network division.
    pub(crate) findings: Findings,
    /// The score of the answers. `None` when there was no accuracy run, or there is nothing to score by.
    pub(crate) score: Option<Result<Score, ScoreError>>,
    /// Queries within the limits of the user; none where there are no limits, or nothing was timed.
    pub(crate) within: Option<Within>,
    /// The distance of the LoadGen node from its limits.
    pub(crate) saturation: Saturation,
    /// When either end stood still while a phase was timed, in order.
    pub(crate) stalls: Vec<Stall>,
    /// The bottleneck of the run. `None` where nothing held it back, or nothing was judged.
    pub(crate) bound: Option<Bound>,
    /// The setting that would fit, where it is known.
    pub(crate) fitting: Option<String>,
}

impl Setup {
    /// The scenario that was asked for.
    pub(crate) fn scenario(&self) -> Scenario {
        self.plan.requested().scenario
    }

    /// Benchmark and scenario, for a display.
    pub(crate) fn title(&self) -> String {
        format!("{} {}", self.benchmark.name, self.scenario().name())
    }
}

impl Judgement {
    /// Why this is no result of the Network division, and what could not be checked.
    pub(crate) fn marks(&self) -> Vec<String> {
        self.findings.marks().into_iter().chain(self.notes.iter().cloned()).collect()
    }
}

impl Finished {
    /// Answers with a NaN in the model's outputs; `None` when no node has counted them.
    pub(crate) fn nan(&self) -> Option<u64> {
        nan(&self.nodes.reports)
    }

    /// Returns the cost of the network, where there is a baseline.
    pub(crate) fn tax(&self) -> Option<(&Baseline, Tax)> {
        let baseline = self.setup.baseline.as_ref()?;
        let summary = self.outcome.summary.as_ref();
        let rate = summary.and_then(|summary| summary.metric.value);
        let percentiles = summary.map(|summary| summary.judged_latency().percentiles_ns);
        Some((
            baseline,
            Tax::of(baseline, self.setup.plan.effective().shape, self.nodes.reports.len(), rate, percentiles),
        ))
    }

    /// Settings that would make the run long enough, where it was too short, and a rate that fits the link or the SUT.
    pub(crate) fn hints(&self) -> Vec<String> {
        let (summary, effective) = (&self.outcome.summary, self.setup.plan.effective());
        let Some(summary) = summary.as_ref().filter(|_| self.outcome.end == End::Completed) else { return Vec::new() };
        // A lower rate is no remedy for samples that failed for other reasons.
        let is_overloaded = self.outcome.counts().failed == 0 || self.nodes.tally.refused() > 0;
        let lower = || hints::lower_rate(summary, effective).filter(|_| is_overloaded);
        // Some advice names keys, and looks at the nodes, that round v0.5 has not.
        let has_keys = self.setup.v05.is_none();
        let fitting = self.judgement.fitting.clone().or_else(|| has_keys.then(lower).flatten());
        let longer = has_keys.then(|| hints::longer(summary, effective, self.setup.auto_setting.is_none())).flatten();
        let is_unfinished = |search: &&FindPeakOutcome| search.end == SearchEnd::TooManyTrials;
        let unfinished = self.outcome.find_peak.as_ref().filter(is_unfinished).map(|_| hints::UNFINISHED.to_owned());
        let codes = self.outcome.verdict.reasons().iter().map(|reason| reason.code.as_str());
        let free = hints::free_host(self.judgement.bound.as_ref().map(|bound| bound.cause), codes);
        let all = [unfinished, free, longer, hints::more_queries(summary, effective), fitting];
        all.into_iter().flatten().map(|hint| self.with_place(hint)).collect()
    }

    /// A hint, with the place of the setting where a config file has it.
    fn with_place(&self, hint: String) -> String {
        let set = hint.trim_start_matches("--set ").split([' ', ',']).next().unwrap_or_default();
        let mut probe = TestSettings { scenario: self.setup.scenario(), ..TestSettings::default() };
        let Ok(Assigned::Here(field)) = probe.set(set) else { return hint };
        match self.setup.planned.settings.places.get(field) {
            Some(place) => format!("{hint}; {place} has it now"),
            None => hint,
        }
    }

    /// Why an accuracy run has no score. `None`: it has one, or it is no accuracy run.
    pub(crate) fn not_scored(&self) -> Option<String> {
        let Setup { plan, benchmark, .. } = &self.setup;
        let has_truths = !matches!(self.judgement.score, None | Some(Err(ScoreError::NoTruths { .. })));
        if !plan.effective().mode.has_accuracy() || has_truths {
            return None;
        }
        let why = benchmark.no_metric().unwrap_or_else(|| "the dataset has no right answers".to_owned());
        Some(format!("not scored: {why}; the answers are in mlperf_log_accuracy.json"))
    }

    /// The exit code of a program that made only this test: the strictest meaning of what happened.
    pub fn exit(&self) -> Exit {
        let lost = self.nodes.reports.iter().any(|report| report.lost.is_some());
        let nameless = !self.nodes.first_name.is_complete() || !self.nodes.last_name.is_complete();
        let has_bug = self.outcome.verdict.reasons().iter().any(|reason| reason.code == reasons::BUG);
        match self.outcome.end {
            _ if has_bug => Exit::Bug,
            End::Interrupted => Exit::Interrupted,
            End::Broken => Exit::Network,
            _ if lost || nameless => Exit::Network,
            _ if self.outcome.verdict.is_valid() => Exit::Ok,
            _ => Exit::Invalid,
        }
    }
}

fn nan(reports: &[NodeReport]) -> Option<u64> {
    let counted = reports.iter().filter_map(|report| report.sut.as_ref().ok()).map(|sut| sut.samples_nan);
    counted.reduce(|sum, count| sum + count)
}

#[cfg(test)]
mod tests {
    use qdl::{NodeCounts, NodeTraffic, PeerKind, SutCounts};

    use super::*;

    #[test]
    fn what_no_node_counts_is_not_nought() {
        let report = |sut: Result<u64, ()>| NodeReport {
            name: "a".to_owned(),
            peer_kind: PeerKind::SUT_NODE,
            counts_resends: false,
            flushed: Ok(()),
            counts: NodeCounts::default(),
            traffic: NodeTraffic::default(),
            room: Default::default(),
            sut: sut.map(|samples_nan| SutCounts { samples_nan, ..SutCounts::default() }).map_err(|()| String::new()),
            lost: None,
            stalls: Vec::new(),
            local: None,
        };
        assert_eq!(nan(&[report(Err(()))]), None);
        assert_eq!(nan(&[report(Ok(0))]), Some(0));
        assert_eq!(nan(&[report(Ok(2)), report(Err(())), report(Ok(3))]), Some(5));
    }
}
