//! What is known when a test is over. Files and screen are made of this and nothing else.

use std::time::SystemTime;

use lon_qsl::Codec;
use lon_qsl::accuracy::{Score, ScoreError};
use lon_qsl::benchmark::Benchmark;
use qdl::{Host, NodeDescription, NodeReport, SutName};

use super::args::RunArgs;
use super::baseline::Baseline;
use super::exit::Exit;
use super::network::NetworkFacts;
use super::saturation::Saturation;
use super::system_desc::Stated;
use super::tally::Tally;
use crate::conf::rules::Rules;
use crate::plan::Plan;
use crate::run::{End, RunOutcome};

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
