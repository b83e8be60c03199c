//! One seed from its beginning to its end, and what must be true of it.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use loadgen::plan;
use loadgen::run::{End, RunOptions, RunOutcome, run};
use loadgen::settings::Qsl;
use lon_net::{clock, random};
use lon_sut::ServeConfig;
use qdl::{
    Config, ConnectError, Driver, NodeAddress, NodeFailure, NodeReport, Peers, Policy, Qdl, RunConfig, Transport,
    reconcile,
};
use tokio::runtime::Runtime;

use crate::backend::SimBackend;
use crate::lies::Lie;
use crate::network::Net;
use crate::node::Node;
use crate::plan::{Fault, NodePlan, Plan, SAMPLES};
use crate::record::{Happened, Record};
use crate::rng::Rng;
use crate::world::{Inbox, Samples, SimWorld};

/// Longest duration of a whole simulation, in its own time.
const LIMIT: Duration = Duration::from_secs(900);

/// Within this time after everything is well again, all nodes can be claimed.
const FREE_WITHIN: Duration = Duration::from_secs(30);

/// Time that the kernel waits for the other end before it breaks a connection, as both ends set it.
const KERNEL_PATIENCE: Duration = Duration::from_secs(30);

/// A sample of more bytes fills frames that a narrow link takes seconds for.
const LARGE_SAMPLE: usize = 256 << 10;

/// Outcome of a seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) events: u64,
    /// A sum over all that happened.
    pub(crate) sum: u64,
    pub(crate) ended: Ended,
    /// A lie was told that could make a result look better than it is.
    pub(crate) is_lie: bool,
}

/// End of the run of a seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// The nodes could not be reached or claimed.
    NotBegun,
    Valid,
    Invalid,
}

/// Runs a seed. Panics with what is wrong when something is.
pub(crate) fn simulate(seed: u64, is_told: bool) -> Outcome {
    simulate_plan(seed, Plan::of(seed), None, is_told)
}

/// Runs a seed in which one node lies once. Panics when the result is VALID all the same.
pub(crate) fn simulate_lie(seed: u64, is_told: bool) -> Outcome {
    simulate_plan(seed, Plan::of_a_lie(seed), Some(Lie::of(Rng::new(!seed))), is_told)
}

fn simulate_plan(seed: u64, plan: Plan, lie: Option<Lie>, is_told: bool) -> Outcome {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    let runtime = Arc::new(runtime);
    let _inside = runtime.enter();
    let record = Record::new(is_told);
    random::seed_this_thread(seed);
    watch(seed);
    let simulation = Simulation::new(seed, plan, lie.clone(), &runtime, &record);
    let ended = simulation.run();
    let is_lie = lie.is_some_and(|lie| lie.matters().is_some());
    Outcome { events: record.events(), sum: record.sum(), ended, is_lie }
}

/// Ends the program when a simulation does not end: it waits for what never comes.
fn watch(seed: u64) {
    tokio::spawn(async move {
        tokio::time::sleep(LIMIT).await;
        eprintln!("seed {seed} has not ended within {LIMIT:?} of its own time; {}", crate::again(seed));
        std::process::exit(101);
    });
}

struct Simulation {
    seed: u64,
    plan: Plan,
    runtime: Arc<Runtime>,
    record: Record,
    net: Net,
    nodes: Arc<Mutex<Vec<Node>>>,
    lie: Option<Lie>,
}

/// A run that was begun and has ended.
struct Over {
    outcome: RunOutcome,
    issued: Vec<u64>,
    inbox: Arc<Inbox>,
    reports: Vec<NodeReport>,
    are_named: bool,
}

impl Simulation {
    fn new(seed: u64, plan: Plan, lie: Option<Lie>, runtime: &Arc<Runtime>, record: &Record) -> Simulation {
        let mut rng = Rng::new(seed ^ 0x51ED);
        let net = Net::new(rng.split(), plan.doubled);
        let new_nodes = plan.nodes.iter().enumerate().map(|(index, node)| {
            let address = format!("10.0.1.{index}:9000");
            let link = net.add(&address, record, node.latency, node.jitter_ms);
            let backend = SimBackend::new(rng.split(), node.is_inline, node.most_ms, plan.answer_bytes, record.clone());
            Node::new(address, link, net.clone(), serve_config(index, node), backend)
        });
        let nodes: Vec<Node> = new_nodes.collect();
        if let Some(lie) = &lie {
            nodes[seed as usize % nodes.len()].link.set_lie(lie.clone());
        }
        let nodes = Arc::new(Mutex::new(nodes));
        Simulation { seed, plan, runtime: Arc::clone(runtime), record: record.clone(), net, nodes, lie }
    }

    fn run(&self) -> Ended {
        self.nodes.lock().unwrap().iter_mut().for_each(Node::start);
        let over = self.begin();
        let ended = match &over {
            None => Ended::NotBegun,
            Some(over) if self.lie.is_some() => self.check_lie(over),
            Some(over) => self.check(over),
        };
        if self.lie.is_none() {
            self.all_is_well();
            self.check_claims();
        }
        ended
    }

    fn begin(&self) -> Option<Over> {
        let qdl = match self.connect(Duration::from_secs(5)) {
            Ok(qdl) => qdl,
            Err(error) => return self.not_begun(&error),
        };
        let first = qdl.name();
        let plan = self.test();
        let inbox = Arc::new(Inbox::new(self.record.clone()));
        let run = match qdl.start(&self.run_config(), Arc::clone(&inbox) as _) {
            Ok(run) => run,
            Err(error) => return self.not_begun(&error),
        };
        let mut world = SimWorld::new(run, Arc::clone(&inbox), self.samples(), self.record.clone());
        self.begin_faults(&world.stop);
        let outcome = loadgen_run(&plan, &mut world);
        self.record.tell(|| format!("{:?} {:?}", outcome.end, outcome.verdict));
        let (run, issued) = world.into_parts();
        let last = qdl.name();
        let reports = run.end();
        self.record.tell(|| format!("{:?}\n{reports:#?}", inbox.ends.lock().unwrap()));
        Some(Over { outcome, issued, inbox, reports, are_named: first.is_complete() && last.is_complete() })
    }

    fn test(&self) -> plan::Plan {
        plan::Plan::new(self.plan.settings.clone(), Qsl { total: SAMPLES, performance: SAMPLES }).unwrap()
    }

    fn not_begun(&self, error: &ConnectError) -> Option<Over> {
        self.record.note(Happened::Call, 0, error.to_string().len() as u64);
        assert!(self.plan.doubled > 0 || self.lie.is_some(), "nothing went wrong, but: {error}");
        None
    }

    fn connect(&self, wait_ready: Duration) -> Result<Qdl, ConnectError> {
        let addresses: Vec<NodeAddress> =
            self.nodes.lock().unwrap().iter().map(|node| node.address.parse().unwrap()).collect();
        let mut config = Config::new(Peers::sut_nodes(addresses, self.plan.transport));
        config.network = Some(Arc::new(self.net.clone()));
        config.runtime = Some(Arc::clone(&self.runtime));
        config.wait_ready = wait_ready;
        Qdl::connect(config)
    }

    fn run_config(&self) -> RunConfig {
        let is_pulled = self.test().effective().shape.is_pulled();
        let policy = if is_pulled { Policy::Pull } else { Policy::LeastOutstanding };
        let mut config = RunConfig::new(policy, Driver::Inline);
        config.connections = NonZeroUsize::new(self.plan.connections).unwrap();
        config.response_timeout = self.plan.response_timeout;
        config.silence_timeout = self.plan.silence_timeout;
        config
    }

    fn samples(&self) -> Samples {
        let payload = |(index, bytes): (usize, &usize)| {
            Bytes::from((0..*bytes).map(|at| (at * 31 + index * 7) as u8).collect::<Vec<u8>>())
        };
        let payloads = self.plan.sample_bytes.iter().enumerate().map(payload).collect();
        Samples { payloads, answer_bytes: self.plan.answer_bytes }
    }

    fn begin_faults(&self, stop: &Arc<AtomicBool>) {
        for (number, (after, fault)) in self.plan.faults.iter().copied().enumerate() {
            let (nodes, stop, record) = (Arc::clone(&self.nodes), Arc::clone(stop), self.record.clone());
            self.runtime.spawn(async move {
                tokio::time::sleep(after).await;
                record.note(Happened::Fault, number as u64, 0);
                happen(fault, &nodes, &stop).await;
                record.note(Happened::Fault, number as u64, 1);
            });
        }
    }

    /// Waits until all that went wrong is over, and every node runs.
    fn all_is_well(&self) {
        self.runtime.block_on(tokio::time::sleep(Duration::from_secs(90)));
        self.nodes.lock().unwrap().iter_mut().for_each(Node::start);
    }

    /// Samples end once whatever a node says, and no result is VALID by a lie.
    fn check_lie(&self, over: &Over) -> Ended {
        let is_valid = over.is_valid();
        let lie = self.lie.as_ref().and_then(Lie::matters);
        self.record.tell(|| format!("{:?}: {lie:?}", self.lie));
        assert!(!is_valid || lie.is_none(), "VALID by a lie: {}", lie.unwrap_or_default());
        check_ends(over);
        if is_valid { Ended::Valid } else { Ended::Invalid }
    }

    fn check(&self, over: &Over) -> Ended {
        let Over { outcome, issued, inbox, reports, .. } = over;
        let is_valid = over.is_valid();
        check_ends(over);
        let ends = inbox.ends.lock().unwrap();
        assert_eq!(ends.wrong, 0, "answers that are not those to their samples");
        assert!(
            !is_valid || ends.answered == issued.len() as u64,
            "VALID with {} failed",
            issued.len() as u64 - ends.answered
        );
        if self.plan.faults.is_empty() && self.plan.doubled == 0 {
            let differences: Vec<String> =
                reports.iter().flat_map(reconcile).map(|difference| difference.to_string()).collect();
            // A node that is late with one sample after the other is given up.
            let is_slow = self.plan.response_timeout < Duration::from_secs(60);
            let is_late = |report: &NodeReport| matches!(report.lost, Some(NodeFailure::Stalled(_)));
            // A frame of 1 MiB holds up what comes behind it, and on some of these links for longer than an end may be
            // silent: gRPC needs a faster one (see HTTP2_FRAME_BYTES).
            let is_narrow = self.plan.transport == Transport::GRPC && self.plan.sample_bytes[3] > LARGE_SAMPLE;
            let was_lost = reports.iter().any(|report| report.lost.is_some());
            let gave_up = is_slow && reports.iter().any(is_late) || is_narrow && was_lost;
            assert!(outcome.end == End::Completed || gave_up, "nothing went wrong, but {:?}", outcome.end);
            assert!(differences.is_empty(), "nothing went wrong, but {differences:?}");
            let others: Vec<_> = ends.failures.keys().filter(|failure| !failure.contains("overload")).collect();
            assert!(others.is_empty() || is_slow || gave_up, "nothing went wrong, but {others:?}");
        }
        if is_valid { Ended::Valid } else { Ended::Invalid }
    }

    /// Every node can be claimed by somebody else.
    fn check_claims(&self) {
        let since = clock::now();
        let free = self.connect(FREE_WITHIN).and_then(|qdl| {
            let inbox = Arc::new(Inbox::new(self.record.clone()));
            qdl.start(&self.run_config(), inbox as _).map(|run| run.end())
        });
        let took = clock::since(since);
        let reports = free.unwrap_or_else(|error| panic!("not free after {took:?}: {error}"));
        assert!(took <= FREE_WITHIN, "free after {took:?} only");
        for report in reports {
            assert!(report.sut.is_ok() || self.plan.doubled > 0, "seed {}: {:?}", self.seed, report.sut);
        }
    }
}

/// Every sample has ended once.
fn check_ends(over: &Over) {
    let ends = over.inbox.ends.lock().unwrap();
    let of = |id: &u64| ends.count.get(id).copied().unwrap_or(0);
    let times = over.issued.iter().map(|id| (*id, of(id)));
    let faulty: Vec<(u64, u64)> = times.filter(|(_, count)| *count != 1).collect();
    assert!(faulty.is_empty(), "samples that did not end once (id, times): {faulty:?}");
    assert_eq!(ends.count.len(), over.issued.len(), "samples ended that were never issued");
}

impl Over {
    /// Returns true when nothing speaks against the result.
    fn is_valid(&self) -> bool {
        let is_clean = |report: &NodeReport| {
            let counts = &report.counts;
            report.lost.is_none() && report.sut.is_ok() && counts.duplicate + counts.late + counts.foreign == 0
        };
        self.outcome.verdict.is_valid()
            && self.are_named
            && self.reports.iter().all(is_clean)
            && self.reports.iter().all(|report| reconcile(report).is_empty())
            && self.inbox.ends.lock().unwrap().failures.is_empty()
    }
}

fn loadgen_run(plan: &plan::Plan, world: &mut SimWorld) -> RunOutcome {
    run(plan, world, &mut (), RunOptions { drain_grace_ns: 3_000_000_000, ..RunOptions::default() })
}

fn serve_config(index: usize, node: &NodePlan) -> ServeConfig {
    let mut config = ServeConfig::new(format!("n{index}").parse().unwrap());
    config.limits = node.limits;
    config.model.workers = NonZeroUsize::new(node.workers).unwrap();
    config.model.max_batch = NonZeroUsize::new(node.max_batch).unwrap();
    config.model.max_delay = node.max_delay;
    config.model.decode_threads = NonZeroUsize::MIN;
    config.drain = Duration::from_secs(5);
    config
}

async fn happen(fault: Fault, nodes: &Mutex<Vec<Node>>, stop: &AtomicBool) {
    match fault {
        Fault::Dark { node, lasts } => {
            let link = Arc::clone(&nodes.lock().unwrap()[node].link);
            link.set_dark(true);
            tokio::time::sleep(lasts.min(KERNEL_PATIENCE)).await;
            if lasts > KERNEL_PATIENCE {
                link.reset_all();
                tokio::time::sleep(lasts - KERNEL_PATIENCE).await;
            }
            link.set_dark(false);
        }
        Fault::Reset { node } => nodes.lock().unwrap()[node].link.reset_all(),
        Fault::Stall { node, side, lasts } => {
            let link = Arc::clone(&nodes.lock().unwrap()[node].link);
            link.set_stalled(side, true);
            tokio::time::sleep(lasts).await;
            link.set_stalled(side, false);
        }
        Fault::Kill { node, is_silent, back_after } => {
            nodes.lock().unwrap()[node].kill(is_silent);
            tokio::time::sleep(back_after).await;
            let mut nodes = nodes.lock().unwrap();
            // The system that comes back knows nothing of the connections of the one before.
            nodes[node].link.reset_all();
            nodes[node].start();
        }
        Fault::Stop { node, back_after } => {
            nodes.lock().unwrap()[node].stop();
            tokio::time::sleep(back_after).await;
            nodes.lock().unwrap()[node].start();
        }
        Fault::Interrupt => stop.store(true, SeqCst),
    }
}
