//! A test that has its nodes to itself: it is run, and then everything that is known of it is gathered.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::SystemTime;

use lon_qsl::dataset::Dataset;
use qdl::{Host, Qdl, Run, SutName};

use super::finished::{Finished, Judgement, Nodes, Setup};
use super::follow::{Answers, Follow};
use super::score;
use super::spec::Limits;
use super::test::Test;
use crate::network::fabric::Fabric;
use crate::network::traffic::Sampler;
use crate::network::{Gathered, NetworkFacts, nics};
use crate::verdict::reasons::{self, Evidence};
use crate::verdict::saturation::{Saturation, Watch};
use crate::world::counts::Counts;
use crate::world::inbox::Inbox;
use crate::world::net_world::NetWorld;
use crate::world::pace::Pacing;
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
    limits: Limits,
    marks: Vec<String>,
    qdl: Qdl,
    fabric: Option<Fabric>,
    host: Host,
    first_name: SutName,
    counters: nics::Counters,
    sampler: Sampler,
    started: SystemTime,
    outcome: RunOutcome,
    saturation: Saturation,
    run: Run,
    dataset: Dataset,
    tally: Tally,
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

    /// The plan that is about to be run.
    pub fn plan(&self) -> &Plan {
        &self.test.setup.plan
    }

    /// Runs the test on the calling thread. `observer` sees the answers for the accuracy log while it goes on.
    pub fn measure(self, observer: &mut impl Observer) -> Measured {
        let Claimed { test, qdl, fabric, host, first_name, pacing, stop, inbox, counters, run, sampler, counts } = self;
        let Test { setup, dataset, limits, options, marks, .. } = test;
        let scenario = setup.scenario();
        let mut follow = Follow::new(observer, &setup, Arc::clone(&counts));
        let mut world = NetWorld::new(run, inbox, dataset, pacing, stop, counts);
        let started = SystemTime::now();
        tracing::info!("run started: {} {}", scenario.name(), setup.plan.requested().mode.name());
        let watch = Watch::begin();
        let outcome = loadgen::run::run(&setup.plan, &mut world, &mut follow, options);
        let saturation = watch.end(pacing, world.capacity());
        let answers = follow.into_answers();
        let (run, dataset, tally) = world.into_parts();
        Measured {
            setup,
            limits,
            marks,
            qdl,
            fabric,
            host,
            first_name,
            counters,
            sampler,
            started,
            outcome,
            saturation,
            run,
            dataset,
            tally,
            answers,
        }
    }
}

impl Measured {
    /// Lets the nodes go, asks them for their counters and for the SUT's name once more, scores the answers, and adds
    /// the node's own reasons to the verdict.
    pub fn finish(self) -> Finished {
        let Measured { setup, mut outcome, qdl, dataset, tally, .. } = self;
        let reports = self.run.end();
        let network = NetworkFacts::gather(Gathered {
            benchmark: setup.benchmark,
            outcome: &outcome,
            reports: &reports,
            looks: self.sampler.end(),
            counters: &self.counters,
            fabric: self.fabric,
            control: qdl.control_traffic(),
        });
        let last_name = qdl.name();
        let described = qdl.nodes().to_vec();
        let score = score::of(&setup, &dataset, &self.answers, score::rows(&described));
        reasons::add(
            &mut outcome,
            &Evidence {
                plan: &setup.plan,
                benchmark: setup.benchmark,
                max_lag: self.limits.max_lag,
                reports: &reports,
                differences: &network.differences,
                tally: &tally,
                names: [&self.first_name, &last_name],
                score: score.as_ref(),
            },
        );
        let nodes = Nodes { host: self.host, described, reports, first_name: self.first_name, last_name, tally };
        let judgement = Judgement { marks: self.marks, score, saturation: self.saturation };
        Finished { setup, started: self.started, outcome, nodes, network, judgement }
    }
}
