//! The end of a run, whoever issued its samples: the nodes are let go and asked, and all that is known is put together.

use std::time::{Duration, Instant, SystemTime};

use lon_qsl::accuracy::{Score, ScoreError};
use lon_shell::panics;
use qdl::{Host, NodeDescription, Qdl, Run, SutName};

use super::finished::{Finished, Judgement, Nodes, Setup};
use crate::division::{self, Division, Facts, NodeFacts, RunFacts, notes};
use crate::network::cause::Spent;
use crate::network::fabric::Fabric;
use crate::network::traffic::Sampler;
use crate::network::{Gathered, NetworkFacts, nics};
use crate::verdict::limiting_cause::LimitingFacts;
use crate::verdict::reasons::{self, Evidence};
use crate::verdict::saturation::Saturation;
use crate::verdict::stalls;
use loadgen::run::{End, RunOutcome};
use loadgen::v05::test::TestOutcome;
use lon_world::stall::Stall;
use lon_world::tally::Tally;

/// The nodes of a run, with the notes and facts from before it.
pub(super) struct ClaimedParts {
    pub(super) setup: Setup,
    /// The things that could not be checked.
    pub(super) notes: Vec<String>,
    pub(super) qdl: Qdl,
    pub(super) fabric: Option<Fabric>,
    /// The LoadGen node's machine.
    pub(super) host: Host,
    pub(super) first_name: SutName,
    /// This host's interfaces before the run.
    pub(super) counters: nics::Counters,
    pub(super) sampler: Sampler,
    pub(super) run: Run,
}

/// The observations of the samples while the run went on.
pub(super) struct Observations {
    pub(super) outcome: RunOutcome,
    /// The same by the rules of round v0.5, where its engine has led the run.
    pub(super) v05: Option<TestOutcome>,
    pub(super) tally: Tally,
    /// When the LoadGen node itself stood still.
    pub(super) stalls: Vec<Stall>,
    /// True when stalls speak against the result. Where another engine judges, they are in its latencies.
    pub(super) judges_stalls: bool,
    /// The start of the run's clock.
    pub(super) origin: Instant,
    pub(super) started: SystemTime,
    pub(super) wall_time: Duration,
    pub(super) saturation: Saturation,
}

impl ClaimedParts {
    /// Lets the nodes go, asks them for their counters and for the SUT's name once more, and adds the node's own
    /// reasons to the verdict. `score` says how right the answers were, where they are scored.
    pub(super) fn gather(
        self,
        observations: Observations,
        score: impl FnOnce(&Setup, &[NodeDescription]) -> Option<Result<Score, ScoreError>>,
    ) -> Finished {
        let ClaimedParts { setup, qdl, .. } = self;
        let Observations { mut outcome, tally, .. } = observations;
        // While the nodes are still ours: afterwards the connection may have to make room for others.
        let last_name = qdl.name();
        let reports = self.run.end();
        let network = NetworkFacts::gather(Gathered {
            formula: setup.bandwidth.as_ref(),
            outcome: &outcome,
            reports: &reports,
            looks: self.sampler.end(),
            threads: observations.saturation.threads.to_vec(),
            origin: observations.origin,
            issuer_spins: !observations.saturation.pacing.spin.is_zero(),
            spent: Spent::of(&tally.all_nodes(), judged_percentile(&setup)),
            counters: &self.counters,
            fabric: self.fabric,
            control: qdl.control_traffic(),
        });
        let described = qdl.nodes().to_vec();
        let score = score(&setup, &described);
        let limiting = LimitingFacts {
            evidence: &network.evidence,
            effective: setup.plan.effective(),
            is_smaller: !setup.codecs.samples.is_none(),
        };
        let bound = limiting.bound(&outcome, setup.lag_limit, tally.refused());
        let of_nodes = stalls::of_nodes(&reports, observations.origin);
        let stalls = stalls::of_run(observations.stalls.into_iter().chain(of_nodes).collect(), &outcome);
        let findings = division::judge(&Facts {
            planned: &setup.planned,
            nodes: Some(NodeFacts { here: &self.host, nodes: &described }),
            run: Some(RunFacts {
                reports: &reports,
                names: [&self.first_name.text, &last_name.text],
                is_whole: outcome.end == End::Completed,
                differences: &network.differences,
                bandwidth: &network.bandwidth,
                nics: &network.nics,
                score: score.as_ref().and_then(|score| score.as_ref().ok()),
            }),
        });
        reasons::add(
            &mut outcome,
            &Evidence {
                plan: &setup.plan,
                benchmark: setup.benchmark,
                lag_limit: setup.lag_limit,
                reports: &reports,
                differences: &network.differences,
                tally: &tally,
                names: [&self.first_name, &last_name],
                score: score.as_ref(),
                stalls: if observations.judges_stalls { &stalls } else { &[] },
                bug: panics::first(),
                findings: (setup.division == Division::Network).then_some(&findings),
                limiting,
            },
        );
        let nodes = Nodes { host: self.host, described, reports, first_name: self.first_name, last_name, tally };
        let more = [notes::uncounted(&nodes.reports), notes::extended(&outcome.phases, setup.beside_others)]
            .into_iter()
            .flatten();
        let odd = notes::odd(&nodes.reports, nodes.tally.odd.nodes());
        let notes = self.notes.into_iter().chain(odd).chain(more).collect();
        let fitting = bound.as_ref().and_then(|bound| limiting.fitting(bound));
        let within = setup.within.and_then(|limits| {
            let timeline = outcome.performance()?.timeline.as_ref()?;
            Some(limits.count(timeline, outcome.judged_plan(&setup.plan).effective()))
        });
        let judgement =
            Judgement { notes, findings, score, within, saturation: observations.saturation, stalls, bound, fitting };
        let Observations { started, wall_time, v05, .. } = observations;
        Finished { setup, started, wall_time, outcome, v05, nodes, network, judgement }
    }
}

/// The place among p50, p90 and p99 of what is asked about: in Offline samples that are neither among the first nor
/// among the last, in others what a limit of the latency is about.
fn judged_percentile(setup: &Setup) -> usize {
    if setup.plan.effective().shape.is_pulled() { 0 } else { 2 }
}
