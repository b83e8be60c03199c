//! A test whose nodes have been reached: they are checked, probed if that is wanted, and claimed.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::Context as _;
use lon_net::descriptors;
use lon_net::slice::{self, Priority};
use lon_proto::node_name::short_sut_name;
use lon_qsl::Codec;
use lon_qsl::dataset::Dataset;
use qdl::{Driver, Host, NodeDescription, Payload, Policy, Qdl, Run, RunConfig, Sink, SutName};

use super::claimed::Claimed;
use super::gather::ClaimedParts;
use super::test::{Test, worth_running};
use super::{kserve, score};
use crate::division::{self, Division, Facts, NodeFacts, notes, one_sut};
use crate::exit::{Exit, OrExit as _, Outcome};
use crate::network::fabric::Fabric;
use crate::network::nics;
use crate::network::traffic::Sampler;
use crate::probe::{self, plan::ProbePlan};
use crate::signals::StopRequests;
use crate::verdict::lag_limit::LagLimit;
use loadgen::run::RunOptions;
use lon_world::counts::Counts;
use lon_world::inbox::Inbox;
use lon_world::pace::{Circumstances, Pacing};

/// A test and its nodes, which take its samples. Nobody else is kept from the nodes yet.
pub struct Connected {
    pub(super) test: Test,
    pub(super) qdl: Qdl,
    fabric: Option<Fabric>,
}

impl Connected {
    pub(super) fn new(test: Test) -> Outcome<Connected> {
        // A control connection to each node, and those that carry samples.
        let each = 1 + test.setup.link.connections.get() as u64;
        descriptors::enough_for(test.target.peers.addresses().len(), each).or_exit(Exit::Usage)?;
        let qdl = test.target.connect()?;
        let connected = Connected::over(test, qdl)?;
        let Test { setup, options, anyway, .. } = &connected.test;
        // Last, since nothing is wrong with such a test but that it is of no use.
        worth_running(&setup.plan, options.extend, *anyway)?;
        Ok(connected)
    }

    /// A test whose nodes have been reached already.
    ///
    /// # Errors
    /// The nodes do not take the samples, or break a rule (exit code 2).
    pub fn over(mut test: Test, qdl: Qdl) -> Outcome<Connected> {
        test.fit(qdl.nodes())?;
        // First, since it names all that is wrong at once.
        test.refuse(&qdl.here(), qdl.nodes())?;
        match one_sut::check(qdl.nodes()) {
            Err(mixed) if test.mixed_nodes => test.notes.push(mixed.mark()),
            checked => checked.or_exit(Exit::Usage)?,
        }
        Ok(Connected { test, qdl, fabric: None })
    }

    /// Probes the fabric where the test wants that. A fabric that cannot be measured to the end is none to run on.
    ///
    /// # Errors
    /// A node fails (exit code 4), or the user asks to stop (5).
    pub fn probe_if_wanted(&mut self, stop: &dyn StopRequests) -> Outcome<()> {
        if !self.test.probe {
            return Ok(());
        }
        let link = &self.test.setup.link;
        let plan = ProbePlan::usual(link.connections);
        let (fabric, outcome) = probe::measure(&self.qdl, link.transport.name(), &plan, stop)?;
        outcome.map_err(|error| probe::failed(error, "--probe ended early, and nothing was run"))?;
        self.fabric = Some(fabric);
        Ok(())
    }

    /// Asks for the SUT's name and claims every node for this test.
    ///
    /// # Errors
    /// A node is lost, busy or refuses the run (exit code 4).
    pub fn claim(self, stop: &dyn StopRequests) -> Outcome<Claimed> {
        let inbox = Arc::new(Inbox::default());
        let mut stop_request = None;
        let begins = || {
            stop_request = Some(stop.test_begins().context("cannot listen to signals").or_exit(Exit::Bug)?);
            Ok(())
        };
        let holding = self.hold(Arc::clone(&inbox) as _, None, begins)?;
        Ok(holding.claimed(stop_request.unwrap_or_default(), inbox))
    }

    /// Asks for the SUT's name and claims every node. `sink` takes what arrives; `pacing`: None decides by scenario and
    /// machine. `begins` is called right before the nodes are claimed.
    ///
    /// # Errors
    /// A node is lost, busy or refuses the run (exit code 4), or `begins` fails.
    pub(super) fn hold(
        self,
        sink: Arc<dyn Sink>,
        pacing: Option<Pacing>,
        begins: impl FnOnce() -> Outcome<()>,
    ) -> Outcome<Holding> {
        let ready = self.prepare(pacing)?;
        begins()?;
        let counters = nics::Counters::now();
        let run = ready.qdl.start(&ready.config(), sink).or_exit(Exit::Network)?;
        Ok(ready.hold(counters, run))
    }

    /// Asks for the SUT's name, and decides by which threads samples are issued and carried.
    pub(super) fn prepare(self, pacing: Option<Pacing>) -> Outcome<Prepared> {
        let Connected { mut test, qdl, fabric } = self;
        let host = qdl.here();
        test.notes.extend(notes::unchecked(qdl.nodes()));
        let start = std::time::Instant::now();
        let first_name = qdl.name();
        let took_us = start.elapsed().as_micros() as u64;
        tracing::info!(name = short_sut_name(&first_name.text), took_us, "the SUT has said its name");
        test.decide_lag(&host, qdl.nodes());
        // Where another engine issues, its threads are its own.
        let is_led = pacing.is_some();
        let pacing = pacing.unwrap_or_else(|| test.decide_pacing(&host, qdl.nodes()));
        let realtime = if is_led { false } else { test.decide_priority(pacing)? };
        let Pacing { io_threads, spin, linger } = pacing;
        let [spin_us, linger_us] = [spin, linger].map(|time| time.as_micros() as u64);
        tracing::debug!(io_threads, spin_us, linger_us, realtime, "threads");
        Ok(Prepared { test, qdl, fabric, host, first_name, pacing, realtime })
    }

    /// Threads that do the network's work, where the user says how many.
    pub(super) fn io_threads(&self) -> Option<usize> {
        self.test.pacing.io_threads
    }
}

/// A test whose nodes are about to be claimed.
pub(super) struct Prepared {
    pub(super) test: Test,
    pub(super) qdl: Qdl,
    fabric: Option<Fabric>,
    host: Host,
    first_name: SutName,
    pacing: Pacing,
    realtime: bool,
}

impl Prepared {
    /// Returns the configuration of the run.
    pub(super) fn config(&self) -> RunConfig {
        self.test.run_config(self.pacing, self.realtime)
    }

    /// The nodes are claimed for this run. `counters` were read before.
    pub(super) fn hold(self, counters: nics::Counters, run: Run) -> Holding {
        let Prepared { test, qdl, fabric, host, first_name, pacing, realtime } = self;
        let sampler = Sampler::start(run.meter());
        let Test { setup, dataset, options, notes, .. } = test;
        let parts = ClaimedParts { setup, notes, qdl, fabric, host, first_name, counters, sampler, run };
        Holding { parts, dataset, options, pacing, realtime }
    }
}

/// A test whose nodes are claimed, and what its samples are sent with.
pub(super) struct Holding {
    pub(super) parts: ClaimedParts,
    pub(super) dataset: Dataset,
    pub(super) options: RunOptions,
    pub(super) pacing: Pacing,
    /// The threads that issue and carry get real-time priority.
    pub(super) realtime: bool,
}

impl Holding {
    /// The test, whose arrivals come into this inbox. `stop` turns true when the user asks to stop.
    pub(super) fn claimed(self, stop: Arc<AtomicBool>, inbox: Arc<Inbox>) -> Claimed {
        let Holding { parts, dataset, options, pacing, realtime } = self;
        let counts = Arc::new(Counts::default());
        Claimed { parts, dataset, options, pacing, realtime, stop, inbox, counts, stage_rows: None, seat: None }
    }
}

impl Test {
    /// Refuses nodes with which a rule of the Network division is broken.
    fn refuse(&self, here: &Host, nodes: &[NodeDescription]) -> Outcome<()> {
        if self.setup.division == Division::None {
            return Ok(());
        }
        let nodes = Some(NodeFacts { here, nodes });
        let findings = division::judge(&Facts { planned: &self.setup.planned, nodes, run: None });
        findings.refuse().context("--division network").or_exit(Exit::Usage)
    }

    /// Checks that the nodes take the samples, and that they are those of the baseline. Makes samples for other servers
    /// fit.
    fn fit(&mut self, nodes: &[NodeDescription]) -> Outcome<()> {
        let Test { setup, dataset, target, .. } = self;
        if target.kind().payload != Payload::Sample {
            kserve::fit(dataset, nodes, &target.inputs).or_exit(Exit::Usage)?;
        } else if setup.codecs.samples != Codec::Original {
            // In that codec a sample is a file, and the node that takes it knows what it becomes.
            for (number, node) in nodes.iter().enumerate() {
                let message =
                    || format!("the model of SUT node {} ({}) does not fit the dataset", node.name, node.address);
                if number == 0 && dataset.fit_to(&node.inputs).with_context(message).or_exit(Exit::Usage)? {
                    tracing::info!(inputs = %node.inputs, "samples are made to fit the model by names");
                }
                dataset.fits_model(&node.inputs).with_context(message).or_exit(Exit::Usage)?;
            }
        }
        let sample_dtypes = dataset.first_sample().or_exit(Exit::Usage)?.dtypes();
        let answered: Vec<_> =
            nodes.first().iter().flat_map(|node| node.outputs.iter()).map(|spec| spec.dtype).collect();
        setup.bandwidth = setup.benchmark.bandwidth_of(&sample_dtypes, &answered);
        if setup.plan.effective().mode.has_accuracy()
            && let (Some(target), Some(truths)) = (&setup.benchmark.accuracy, dataset.truths())
        {
            score::check(target, truths, nodes).context("the answers cannot be scored").or_exit(Exit::Usage)?;
        }
        match &setup.baseline {
            Some(baseline) => baseline.fits(nodes).context("--baseline").or_exit(Exit::Usage),
            None => Ok(()),
        }
    }

    /// Nodes that run on this machine take its cores from the LoadGen node, which is then allowed to be later.
    fn decide_lag(&mut self, here: &Host, nodes: &[NodeDescription]) {
        let before = self.setup.lag_limit;
        self.setup.lag_limit = before.with_nodes_here(cores(), nodes_here(here, nodes));
        let LagLimit { limit, origin } = self.setup.lag_limit;
        if origin != before.origin {
            let limit_us = limit.as_micros() as u64;
            tracing::info!(
                limit_us,
                why = self.setup.lag_limit.why(),
                "the limit of the schedule lag (delay between due and sent) is higher here"
            );
        }
    }

    fn decide_pacing(&self, here: &Host, nodes: &[NodeDescription]) -> Pacing {
        let (shape, sut_is_here) = (self.setup.plan.effective().shape, nodes_here(here, nodes) > 0);
        Pacing::decide(self.pacing, Circumstances { shape, cores: cores(), sut_is_here })
    }

    /// Decides if the threads that issue and carry get real-time priority. A thread that stays awake must leave a core
    /// to others. Offline asks for none where that is left open: there nothing is due, and a thread may work all the
    /// time.
    fn decide_priority(&self, pacing: Pacing) -> Outcome<bool> {
        let Pacing { io_threads, spin, linger } = pacing;
        let is_pulled = self.setup.plan.effective().shape.is_pulled();
        let stays_awake = !(spin.is_zero() && linger.is_zero());
        let spares_a_core = match self.priority {
            Priority::Realtime => !stays_awake || cores() > 1,
            Priority::Auto | Priority::Normal => !is_pulled && cores() > 1 + io_threads,
        };
        if self.priority == Priority::Auto && slice::gives_way() {
            tracing::info!("started to give way (idle, batch or nice): no real-time priority");
        }
        self.priority.decide(spares_a_core).context("--priority realtime").or_exit(Exit::Usage)
    }

    fn run_config(&self, pacing: Pacing, realtime: bool) -> RunConfig {
        let is_pulled = self.setup.plan.effective().shape.is_pulled();
        let policy = if is_pulled { Policy::Pull } else { Policy::LeastOutstanding };
        let driver = NonZeroUsize::new(pacing.io_threads).map_or(Driver::Inline, Driver::Threads);
        let mut config = RunConfig::new(policy, driver);
        config.connections = self.setup.link.connections;
        config.response_timeout = self.setup.limits.response_timeout;
        config.max_answer_bytes = self.setup.limits.max_answer_bytes;
        config.codec = self.setup.codecs.samples;
        config.response_codec = self.setup.codecs.answers;
        config.realtime = realtime;
        config
    }
}

/// Cores that this process may use.
fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, NonZeroUsize::get)
}

/// Returns the number of nodes that run on this machine.
fn nodes_here(here: &Host, nodes: &[NodeDescription]) -> usize {
    nodes.iter().filter(|node| !here.boot_id.is_empty() && node.host.boot_id == here.boot_id).count()
}
