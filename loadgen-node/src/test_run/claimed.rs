//! A test that has its nodes to itself: it is run, and then everything that is known of it is gathered.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant, SystemTime};

use lon_qsl::dataset::Dataset;
use lon_shell::bugs;
use qdl::{Host, Qdl, Run, SutName};

use super::finished::{Finished, Judgement, Nodes, Setup};
use super::follow::{Answers, Follow};
use super::score;
use super::test::Test;
use crate::division::{self, Division, Facts, NodesSeen, RunSeen, notes};
use crate::network::fabric::Fabric;
use crate::network::traffic::Sampler;
use crate::network::{Gathered, NetworkFacts, nics};
use crate::verdict::reasons::{self, Evidence};
use crate::verdict::saturation::{Saturation, Watch};
use crate::verdict::stalls;
use crate::world::counts::Counts;
use crate::world::inbox::Inbox;
use crate::world::net_world::NetWorld;
use crate::world::pace::Pacing;
use crate::world::stall::Stall;
use crate::world::tally::Tally;
use loadgen::plan::Plan;
use loadgen::run::{Observer, RunOutcome};

/// A test whose nodes are claimed. They stay claimed until it has been run or is released; dropped, they are free again
/// when their leases lapse.
pub struct Claimed {
    pub(super) test: Test,
    pub(super) qdl: Qdl,
    pub(super) fabric: Option<Fabric>,
    /// The LoadGen node's machine.
    pub(super) host: Host,
    pub(super) first_name: SutName,
    pub(super) pacing: Pacing,
    pub(super) stop: Arc<AtomicBool>,
    pub(super) inbox: Arc<Inbox>,
    /// This host's interfaces before the run.
    pub(super) counters: nics::Counters,
    pub(super) run: Run,
    pub(super) sampler: Sampler,
    pub(super) counts: Arc<Counts>,
}

/// A test that was run to its end, whose nodes have not told their counters yet.
pub struct Measured {
    setup: Setup,
    notes: Vec<String>,
    qdl: Qdl,
    fabric: Option<Fabric>,
    host: Host,
    first_name: SutName,
    counters: nics::Counters,
    sampler: Sampler,
    started: SystemTime,
    wall_time: Duration,
    outcome: RunOutcome,
    saturation: Saturation,
    run: Run,
    dataset: Dataset,
    tally: Tally,
    stalls: Vec<Stall>,
    /// The start of the run's clock.
    origin: Instant,
    answers: Answers,
}

impl Claimed {
    /// Lets the nodes go without a run; they are free at once.
    pub fn release(self) {
        self.run.end();
    }

    /// What the run counts while it goes on, for a display.
    pub(crate) fn counts(&self) -> Arc<Counts> {
        Arc::clone(&self.counts)
    }

    /// Benchmark and scenario, for a display.
    pub(crate) fn title(&self) -> String {
        self.test.setup.title()
    }

    /// What was asked for.
    pub(crate) fn setup(&self) -> &Setup {
        &self.test.setup
    }

    /// What the SUT called itself before the run.
    pub(crate) fn sut_name(&self) -> &str {
        &self.first_name.text
    }

    /// The plan that is about to be run.
    pub fn plan(&self) -> &Plan {
        &self.test.setup.plan
    }

    /// Runs the test on the calling thread. `observer` sees the answers for the accuracy log while it goes on.
    pub fn measure(self, observer: &mut impl Observer) -> Measured {
        let Claimed { test, qdl, fabric, host, first_name, pacing, stop, inbox, counters, run, sampler, counts } = self;
        let Test { setup, dataset, options, notes, .. } = test;
        let scenario = setup.scenario();
        let mut follow = Follow::new(observer, &setup, Arc::clone(&counts));
        let mut world = NetWorld::new(run, inbox, dataset, pacing, stop, counts);
        let (started, begun) = (SystemTime::now(), Instant::now());
        tracing::info!(scenario = scenario.name(), mode = setup.plan.requested().mode.name(), "run started");
        let watch = Watch::begin();
        let outcome = loadgen::run::run(&setup.plan, &mut world, &mut follow, options);
        let saturation = watch.end(pacing, world.capacity());
        let answers = follow.into_answers();
        let origin = world.origin();
        let (run, dataset, tally, stalls) = world.into_parts();
        Measured {
            setup,
            notes,
            qdl,
            fabric,
            host,
            first_name,
            counters,
            sampler,
            started,
            wall_time: begun.elapsed(),
            outcome,
            saturation,
            run,
            dataset,
            tally,
            stalls,
            origin,
            answers,
        }
    }
}

impl Measured {
    /// Lets the nodes go, asks them for their counters and for the SUT's name once more, scores the answers, and adds
    /// the node's own reasons to the verdict.
    pub fn finish(self) -> Finished {
        let Measured { setup, mut outcome, qdl, dataset, mut tally, .. } = self;
        if let Some(number) = outcome.phases.iter().position(|phase| phase.timeline.is_some()) {
            tally.show_phase(number);
        }
        // While the nodes are still ours: afterwards the connection may have to make room for others.
        let last_name = qdl.name();
        let reports = self.run.end();
        let network = NetworkFacts::gather(Gathered {
            formula: setup.bandwidth.as_ref(),
            outcome: &outcome,
            reports: &reports,
            looks: self.sampler.end(),
            counters: &self.counters,
            fabric: self.fabric,
            control: qdl.control_traffic(),
        });
        let described = qdl.nodes().to_vec();
        let score = score::of(&setup, &dataset, &self.answers, score::rows(&described));
        let of_nodes = stalls::of_nodes(&reports, self.origin);
        let stalls = stalls::of_run(self.stalls.into_iter().chain(of_nodes).collect(), &outcome);
        let findings = division::judge(&Facts {
            planned: &setup.planned,
            nodes: Some(NodesSeen { here: &self.host, nodes: &described }),
            run: Some(RunSeen {
                reports: &reports,
                names: [&self.first_name.text, &last_name.text],
                differences: &network.differences,
                bandwidth: &network.bandwidth,
                nics: &network.nics,
                score: score.as_ref().and_then(|score| score.as_ref().ok()).copied(),
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
                stalls: &stalls,
                bug: bugs::first(),
                findings: (setup.division == Division::Network).then_some(&findings),
            },
        );
        let nodes = Nodes { host: self.host, described, reports, first_name: self.first_name, last_name, tally };
        let more = [notes::uncounted(&nodes.reports), notes::extended(&outcome.phases)];
        let notes = self.notes.into_iter().chain(more.into_iter().flatten()).collect();
        let judgement = Judgement { notes, findings, score, saturation: self.saturation, stalls };
        let (started, wall_time) = (self.started, self.wall_time);
        Finished { setup, started, wall_time, outcome, nodes, network, judgement }
    }
}
