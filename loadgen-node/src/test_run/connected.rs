//! A test whose nodes have been reached: they are checked, probed if that is wanted, and claimed.

use std::num::NonZeroUsize;
use std::sync::Arc;

use anyhow::{Context as _, anyhow};
use lon_qsl::Codec;
use qdl::{Driver, Host, NodeDescription, Payload, Policy, Qdl, RunConfig};

use super::claimed::Claimed;
use super::test::Test;
use super::{kserve, score};
use crate::exit::{Exit, OrExit as _, Outcome};
use crate::network::fabric::Fabric;
use crate::network::nics;
use crate::network::traffic::Sampler;
use crate::probe::{self, ProbeLimits};
use crate::verdict::division;
use crate::world::counts::Counts;
use crate::world::inbox::Inbox;
use crate::world::pace::{Circumstances, Pacing};
use crate::world::signals::StopRequests;
use loadgen::traffic;

/// A test and its nodes, which take its samples. Nobody else is kept from the nodes yet.
pub struct Connected {
    test: Test,
    qdl: Qdl,
    fabric: Option<Fabric>,
}

impl Connected {
    pub(super) fn new(mut test: Test) -> Outcome<Connected> {
        let qdl = test.target.connect()?;
        test.fit(qdl.nodes())?;
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
        let limits = ProbeLimits::usual(link.connections);
        let (fabric, outcome) = probe::measure(&self.qdl, link.transport.name(), limits, stop)?;
        outcome.map_err(|error| probe::failed(error, "--probe ended early, and nothing was run"))?;
        self.fabric = Some(fabric);
        Ok(())
    }

    /// Asks for the SUT's name and claims every node for this test.
    ///
    /// # Errors
    /// A node is lost, busy or refuses the run (exit code 4).
    pub fn claim(self, stop: &dyn StopRequests) -> Outcome<Claimed> {
        let Connected { mut test, qdl, fabric } = self;
        let host = Host::here();
        test.marks.extend(division::one_host(&host, qdl.nodes().iter().map(|node| (node.name.as_str(), &node.host))));
        let asked = std::time::Instant::now();
        let first_name = qdl.name();
        tracing::info!("{} answered in {:?}", first_name.text, asked.elapsed());
        let pacing = test.decide_pacing(&host, qdl.nodes());
        tracing::debug!("{pacing:?}");
        let stop = stop.test_begins().context("cannot listen to signals").or_exit(Exit::Bug)?;
        let inbox = Arc::new(Inbox::new());
        let counters = nics::Counters::now();
        let run = qdl.start(&test.run_config(pacing), Arc::clone(&inbox) as _).or_exit(Exit::Network)?;
        let sampler = Sampler::start(run.meter());
        let counts = Arc::new(Counts::default());
        Ok(Claimed { test, qdl, fabric, host, first_name, pacing, stop, inbox, counters, run, sampler, counts })
    }
}

impl Test {
    /// Whether the nodes take the samples, and are those of the baseline. Samples for other servers are made to fit
    /// here.
    fn fit(&mut self, nodes: &[NodeDescription]) -> Outcome<()> {
        let Test { setup, dataset, target, .. } = self;
        if target.kind().payload != Payload::Sample {
            kserve::fit(dataset, nodes, &target.inputs).or_exit(Exit::Usage)?;
        } else if setup.codecs.samples != Codec::Original {
            // In that codec a sample is a file, and the node that takes it knows what it becomes.
            for node in nodes {
                let told =
                    || format!("the model of SUT node {} ({}) does not fit the dataset", node.name, node.address);
                dataset.fits_model(&node.inputs).with_context(told).or_exit(Exit::Usage)?;
            }
        }
        if setup.plan.effective().mode.has_accuracy()
            && setup.benchmark.accuracy.is_some()
            && let (Some(truths), Some(rows)) = (dataset.truths(), score::rows(nodes))
            && let Err(fault) = truths.fits(rows)
        {
            return Err(anyhow!("the answers could not be scored: {fault}")).or_exit(Exit::Usage);
        }
        match &setup.baseline {
            Some(baseline) => baseline.fits(nodes).context("--baseline").or_exit(Exit::Usage),
            None => Ok(()),
        }
    }

    fn decide_pacing(&self, here: &Host, nodes: &[NodeDescription]) -> Pacing {
        let circumstances = Circumstances {
            scenario: self.setup.scenario(),
            cores: std::thread::available_parallelism().map_or(1, NonZeroUsize::get),
            sut_is_here: nodes.iter().any(|node| node.host.boot_id == here.boot_id),
        };
        Pacing::decide(self.pacing, circumstances)
    }

    fn run_config(&self, pacing: Pacing) -> RunConfig {
        let policy = match self.setup.scenario().pacing() {
            traffic::Pacing::Room => Policy::Pull,
            traffic::Pacing::Schedule | traffic::Pacing::Reply { .. } => Policy::LeastOutstanding,
        };
        let driver = NonZeroUsize::new(pacing.io_threads).map_or(Driver::Inline, Driver::Threads);
        let mut config = RunConfig::new(policy, driver);
        config.connections = self.setup.link.connections;
        config.response_timeout = self.limits.response_timeout;
        config.codec = self.setup.codecs.samples;
        config.response_codec = self.setup.codecs.answers;
        config
    }
}
