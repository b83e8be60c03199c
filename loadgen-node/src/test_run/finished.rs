//! What is known when a test is over. Files and screen are made of this and nothing else.

use std::time::SystemTime;

use lon_qsl::Codec;
use lon_qsl::accuracy::{Score, ScoreError};
use lon_qsl::benchmark::Benchmark;
use qdl::{Host, NodeDescription, NodeReport, SutName};

use crate::cli::RunArgs;
use crate::exit::Exit;
use crate::network::NetworkFacts;
use crate::test_run::stated::Stated;
use crate::verdict::baseline::{Baseline, Tax};
use crate::verdict::saturation::Saturation;
use crate::world::tally::Tally;
use loadgen::conf::rules::Rules;
use loadgen::judge::Metric;
use loadgen::plan::Plan;
use loadgen::run::{End, RunOutcome};

/// A test that is over, however it ended.
pub(crate) struct Finished<'a> {
    pub(crate) args: &'a RunArgs,
    pub(crate) benchmark: &'static Benchmark,
    pub(crate) dataset_name: String,
    /// Of the samples.
    pub(crate) codec: Codec,
    pub(crate) plan: Plan,
    /// The round whose rules applied.
    pub(crate) rules: &'static Rules,
    /// Why this is no result of the division, in words that every output repeats.
    pub(crate) marks: Vec<String>,
    pub(crate) outcome: RunOutcome,
    /// The LoadGen node's machine.
    pub(crate) host: Host,
    /// Of the system, by the user.
    pub(crate) stated: Stated,
    pub(crate) nodes: Vec<NodeDescription>,
    pub(crate) reports: Vec<NodeReport>,
    /// The name asked before the run, and the one asked after it.
    pub(crate) names: [SutName; 2],
    pub(crate) tally: Tally,
    pub(crate) accuracy: Option<Result<Score, ScoreError>>,
    pub(crate) saturation: Saturation,
    pub(crate) network: NetworkFacts,
    /// What `--baseline` names.
    pub(crate) baseline: Option<Baseline>,
    pub(crate) started: SystemTime,
}

impl Finished<'_> {
    /// The metric's number; none when nothing was answered, whatever formulas make of that.
    pub(crate) fn metric_value(&self, metric: &Metric) -> Option<f64> {
        let answered = self.outcome.performance().is_some_and(|phase| phase.counts.completed > 0);
        metric.value.filter(|_| answered)
    }

    /// Answers with a NaN in the model's outputs; none when no node has counted them.
    pub(crate) fn nan(&self) -> Option<u64> {
        nan(&self.reports)
    }

    /// What the network cost, where there is a baseline.
    pub(crate) fn tax(&self) -> Option<(&Baseline, Tax)> {
        let baseline = self.baseline.as_ref()?;
        let summary = self.outcome.summary.as_ref();
        let rate = summary.and_then(|summary| self.metric_value(&summary.metric));
        let percentiles = summary.map(|summary| summary.judged_latency().percentiles_ns);
        Some((baseline, Tax::of(baseline, self.args.scenario, self.reports.len(), rate, percentiles)))
    }

    /// The strictest meaning of what happened.
    pub(crate) fn exit(&self) -> Exit {
        let lost = self.reports.iter().any(|report| report.lost.is_some());
        let nameless = self.names.iter().any(|name| !name.is_complete());
        match self.outcome.end {
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
            counts: NodeCounts::default(),
            traffic: NodeTraffic::default(),
            sut: sut.map(|samples_nan| SutCounts { samples_nan, ..SutCounts::default() }).map_err(|()| String::new()),
            lost: None,
            local: None,
        };
        assert_eq!(nan(&[report(Err(()))]), None);
        assert_eq!(nan(&[report(Ok(0))]), Some(0));
        assert_eq!(nan(&[report(Ok(2)), report(Err(())), report(Ok(3))]), Some(5));
    }
}
