//! A test that has its nodes to itself: it is run, and then everything that is known of it is gathered.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant, SystemTime};

use lon_qsl::dataset::Dataset;
use qdl::NodeDescription;

use super::finished::{Finished, Setup};
use super::follow::{Answers, Follow};
use super::gather::{ClaimedParts, Observations};
use super::score;
use crate::live::run_facts::About;
use crate::live::snapshot_reader::SnapshotReader;
use crate::verdict::saturation::{self, Saturation};
use loadgen::plan::Plan;
use loadgen::run::{Observer, RunOptions, RunOutcome};
use loadgen::settings::Mode;
use loadgen::v05::test::TestOutcome;
use lon_world::counts::Counts;
use lon_world::inbox::Inbox;
use lon_world::mix::{MixedWorld, Seat};
use lon_world::net_world::NetWorld;
use lon_world::pace::Pacing;
use lon_world::stage_rows::{self, StageReader, StageWriter};
use lon_world::stall::Stall;
use lon_world::tally::Tally;

/// A test whose nodes are claimed. They stay claimed until it has been run or is released; dropped, they are free again
/// when their leases lapse.
pub struct Claimed {
    pub(super) parts: ClaimedParts,
    pub(super) dataset: Dataset,
    pub(super) options: RunOptions,
    pub(super) pacing: Pacing,
    /// True when the threads that issue and carry have real-time priority.
    pub(super) realtime: bool,
    pub(super) stop: Arc<AtomicBool>,
    pub(super) inbox: Arc<Inbox>,
    pub(super) counts: Arc<Counts>,
    /// Where node and stages of each sample go, once somebody takes them.
    pub(super) stage_rows: Option<StageWriter>,
    /// The seat of a tenant, where the test runs beside others.
    pub(super) seat: Option<TenantSeat>,
}

/// The seat of a test among the tenants of one run.
pub(super) struct TenantSeat {
    pub(super) seat: Seat,
    /// The clock that the tenants have in common.
    pub(super) origin: Instant,
    /// When this one starts, on the clock of the mix.
    pub(super) start: Duration,
}

/// A test that was run to its end, whose nodes have not told their counters yet.
pub struct Measured {
    parts: ClaimedParts,
    outcome: RunOutcome,
    /// The same by the rules of round v0.5, where its engine has led the run.
    v05: Option<TestOutcome>,
    saturation: Saturation,
    dataset: Dataset,
    tally: Tally,
    stalls: Vec<Stall>,
    /// The start of the run's clock.
    origin: Instant,
    started: SystemTime,
    wall_time: Duration,
    answers: Answers,
}

impl Claimed {
    /// Lets the nodes go without a run; they are free at once.
    pub fn release(self) {
        self.parts.run.end();
    }

    /// A reader of the run, which is to be made before it begins.
    pub(crate) fn watch(&self) -> SnapshotReader {
        let (setup, meter) = (&self.parts.setup, self.parts.run.meter());
        let effective = setup.plan.effective();
        let scenario = effective.scenario;
        let about = About {
            benchmark: setup.benchmark.name.to_owned(),
            scenario: scenario.name(),
            transport: setup.link.transport.name(),
            sut_name: self.sut_name().to_owned(),
            labels: setup.call.labels.for_metrics(),
            terms: effective.terms(),
            has_latency_limit: scenario.judge().has_latency_limit(&effective.terms()),
            early_stopping: scenario.judge().early_stopping(),
            has_schedule: effective.shape.has_schedule(),
            lag_limit_ns: setup.lag_limit.ns(),
            is_search: effective.mode == Mode::FindPeakPerformance,
            may_extend: self.options.extend,
        };
        SnapshotReader::new(about, Arc::clone(&self.counts), move || meter.nodes())
    }

    /// Turns true when the run is asked to stop.
    pub fn stop(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.stop)
    }

    /// Node and stages of each sample, for the one who keeps them; none where that was not asked for.
    pub(crate) fn stage_rows(&mut self) -> Option<StageReader> {
        let (writer, reader) = self.parts.setup.record_stages.then(stage_rows::new)?;
        self.stage_rows = Some(writer);
        Some(reader)
    }

    /// The names of the nodes, in the order in which they were given.
    pub(crate) fn node_names(&self) -> Vec<String> {
        self.parts.qdl.nodes().iter().map(|node| node.name.clone()).collect()
    }

    /// Returns the test that was asked for.
    pub(crate) fn setup(&self) -> &Setup {
        &self.parts.setup
    }

    /// Returns the name that the SUT gave itself before the run.
    pub(crate) fn sut_name(&self) -> &str {
        &self.parts.first_name.text
    }

    /// The plan that is about to be run.
    pub fn plan(&self) -> &Plan {
        &self.parts.setup.plan
    }

    /// Runs the test on the calling thread. `observer` sees the answers for the accuracy log while it goes on.
    pub fn measure(self, observer: &mut impl Observer) -> Measured {
        let Claimed { parts, dataset, options, pacing, realtime, stop, inbox, counts, stage_rows, seat } = self;
        let ClaimedParts { setup, notes, qdl, fabric, host, first_name, counters, sampler, run } = parts;
        let scenario = setup.scenario();
        let mut follow = Follow::new(observer, &setup, Arc::clone(&counts), realtime);
        let mut world = NetWorld::new(run, inbox, dataset, pacing, stop, counts).with_stage_rows(stage_rows);
        let (started, start_instant) = (SystemTime::now(), Instant::now());
        tracing::info!(scenario = scenario.name(), mode = setup.plan.requested().mode.name(), "run started");
        let watch = saturation::Watch::begin();
        let (outcome, v05) = match (&setup.v05, seat) {
            (None, None) => (lon_world::run(&setup.plan, &mut world, &mut follow, options), None),
            (None, Some(TenantSeat { seat, origin, start })) => {
                world = world.since(origin);
                let mut mixed = MixedWorld::new(&mut world, seat, start.as_nanos() as u64);
                (lon_world::run_mixed(&setup.plan, &mut mixed, &mut follow, options), None)
            }
            (Some(test), _) => {
                let (outcome, v05) = lon_world::run_v0_5(test, &setup.plan, &mut world, &mut follow, &options);
                (outcome, Some(v05))
            }
        };
        let saturation = watch.end(pacing, realtime, world.capacity());
        let answers = follow.into_answers();
        let origin = world.origin();
        let (run, dataset, tally, stalls) = world.into_parts();
        let parts = ClaimedParts { setup, notes, qdl, fabric, host, first_name, counters, sampler, run };
        let wall_time = start_instant.elapsed();
        Measured { parts, outcome, v05, saturation, dataset, tally, stalls, origin, started, wall_time, answers }
    }
}

impl Measured {
    /// Lets the nodes go, asks them for their counters and for the SUT's name once more, scores the answers, and adds
    /// the node's own reasons to the verdict.
    pub fn finish(self) -> Finished {
        let Measured { parts, outcome, v05, saturation, dataset, tally, stalls, origin, .. } = self;
        let (mut tally, started, wall_time, answers) = (tally, self.started, self.wall_time, self.answers);
        if let Some(number) = outcome.phases.iter().position(|phase| phase.timeline.is_some()) {
            tally.show_phase(number);
        }
        let score = |setup: &Setup, nodes: &[NodeDescription]| score::of(setup, &dataset, &answers, score::rows(nodes));
        let judges_stalls = true;
        let observations =
            Observations { outcome, v05, tally, stalls, judges_stalls, origin, started, wall_time, saturation };
        parts.gather(observations, score)
    }
}
