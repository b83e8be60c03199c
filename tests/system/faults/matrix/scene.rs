//! Scene of a fault: two SUT nodes or a scripted peer, perhaps behind relays, and the run that asks them.

use std::thread::sleep;
use std::time::{Duration, Instant};

use lon_tests::folder_check::FolderCheck;
use lon_tests::peer::Peer;
use lon_tests::process::{Finished, LoadGen, SutNode};
use lon_tests::relay::Relay;
use lon_tests::route::OpenRoute;
use lon_tests::run_folder::RunFolder;
use lon_tests::test_run::TestRun;
use nix::sys::signal::Signal;

use super::cell::Cell;
use super::mix;
use super::table::Sut;

/// From when the run has begun until the fault.
const INTO_THE_RUN: Duration = Duration::from_millis(300);

/// Longest time until a node is free after the run that had it has ended, in whatever way.
const FREE_WITHIN: &str = "20s";

/// Everything of one cell.
pub(super) struct Scene {
    pub(super) route: OpenRoute,
    /// Values of `--backend` of each node.
    backends: Vec<String>,
    /// By number; none once it is gone.
    pub(super) nodes: Vec<Option<SutNode>>,
    /// Nodes that were told to stop.
    ending: Vec<SutNode>,
    addresses: Vec<String>,
    pub(super) relays: Vec<Relay>,
    _peer: Option<Peer>,
    pub(super) run: Option<LoadGen>,
    /// A run that is not the one under test.
    pub(super) other: Option<(LoadGen, RunFolder)>,
}

/// Outcome of a cell.
pub(super) struct Outcome {
    pub(super) check: FolderCheck,
    pub(super) finished: Finished,
    pub(super) has_folder: bool,
    /// From the fault to the end of the run.
    pub(super) lasted: Duration,
}

impl Scene {
    pub(super) fn set(cell: &Cell) -> Scene {
        let route = cell.route.open();
        let mut scene = Scene {
            route,
            backends: Vec::new(),
            nodes: Vec::new(),
            ending: Vec::new(),
            addresses: Vec::new(),
            relays: Vec::new(),
            _peer: None,
            run: None,
            other: None,
        };
        let models = |backend: &str| match cell.tenants() {
            [] => vec![backend.to_owned()],
            tenants => tenants.iter().map(|tenant| tenant.model(backend)).collect(),
        };
        match cell.fault.sut {
            Sut::Nodes(backend) => scene.start_nodes(models(backend), &[]),
            Sut::Limited(backend, under) => scene.start_nodes(models(backend), under),
            Sut::Relayed(backend) => {
                scene.start_nodes(models(backend), &[]);
                scene.relays = scene.addresses.iter().map(|address| Relay::to(address)).collect();
            }
            Sut::Scripted(behaviour) => {
                let peer = scene.route.peer(behaviour());
                scene.addresses.push(peer.address.to_string());
                scene._peer = Some(peer);
            }
        }
        scene
    }

    fn start_nodes(&mut self, backends: Vec<String>, under: &[&str]) {
        self.backends = backends;
        for (name, under) in [("a", &[][..]), ("b", under)] {
            let (first, flags) = self.flags();
            let node = self.route.node_under(under, name, first, &flags);
            self.addresses.push(node.address.clone());
            self.nodes.push(Some(node));
        }
    }

    /// The first backend of a node, and its other flags.
    fn flags(&self) -> (&str, Vec<&str>) {
        let mut backends = self.backends.iter().map(String::as_str);
        let first = backends.next().expect("a node has a backend");
        let others = backends.flat_map(|backend| ["--backend", backend]);
        (first, others.chain(["--max-batch", "1"]).collect())
    }

    /// Node b, to which things happen; node a stays well.
    pub(super) fn node(&self) -> &SutNode {
        self.nodes[1].as_ref().expect("it is there")
    }

    /// Ends a node without a word.
    pub(super) fn kill(&mut self, number: usize) {
        let node = self.nodes[number].take().expect("it is there");
        node.signal(Signal::SIGKILL);
        assert_eq!(node.wait(), None, "killed");
    }

    /// Tells a node to end in good order.
    pub(super) fn end(&mut self, number: usize) {
        let node = self.nodes[number].take().expect("it is there");
        node.signal(Signal::SIGTERM);
        self.ending.push(node);
    }

    /// Starts a node of the same name where one was.
    pub(super) fn restart(&mut self, number: usize) {
        let (first, flags) = self.flags();
        let node = self.route.node_on(&self.addresses[number], "b", first, &flags);
        self.nodes[number] = Some(node);
    }

    pub(super) fn signal_run(&self, signal: Signal) {
        self.run.as_ref().expect("it is under way").signal(signal);
    }

    /// Another run takes the nodes, and keeps them until it is over.
    pub(super) fn occupy(&mut self) {
        let long = TestRun::new("Server").set("min_duration=60000,target_qps=50");
        self.other = Some(self.route.to(long, &self.addresses.join(",")).begin());
    }

    /// Runs the test of this cell to its end, and lets the fault happen.
    pub(super) fn run(&mut self, cell: &Cell) -> Outcome {
        let fault = cell.fault;
        (fault.before)(self);
        let to: Vec<String> = match self.relays.as_slice() {
            [] => self.addresses.clone(),
            relays => relays.iter().map(|relay| relay.address.to_string()).collect(),
        };
        let tenants = cell.tenants();
        let test = match tenants {
            [] => TestRun::new(cell.scenario),
            tenants => TestRun::mix(&mix::file(tenants, &to)),
        };
        let test = test.under(fault.under).dataset(cell.dataset());
        let test = test.set(&cell.settings()).args(&["--mode", cell.mode, "--max-lag", fault.max_lag]);
        let (mut run, folder) = self.route.to(test.args(fault.flags).args(cell.flags()), &to.join(",")).start();
        let has_begun = run.has_logged("run started");
        self.run = Some(run);
        let fault_at = Instant::now();
        if has_begun {
            sleep(INTO_THE_RUN);
            (fault.during)(self);
        }
        let finished = self.run.take().expect("it is under way").finish();
        let lasted = fault_at.elapsed();
        let check = match tenants {
            [] => FolderCheck::of(&folder.path, finished.code),
            tenants => mix::check(tenants, &fault.expect, &folder.path, finished.code),
        };
        Outcome { check, finished, has_folder: folder.path.exists(), lasted }
    }

    /// Returns the faults of the nodes that stayed: they must be free for the next run, and end in good order.
    pub(super) fn leave(mut self) -> Vec<String> {
        drop(self.other.take());
        self.relays.clear();
        let mut faults = Vec::new();
        let free: Vec<&SutNode> = self.nodes.iter().flatten().collect();
        if !free.is_empty() {
            free.iter().for_each(|node| node.signal(Signal::SIGCONT));
            let sut: Vec<&str> = free.iter().map(|node| node.address.as_str()).collect();
            let next = TestRun::new("Offline").set("min_duration=0,min_query_count=20,target_qps=1");
            let next = next.args(&["--wait-ready", FREE_WITHIN, "--max-lag", "10s"]);
            let (finished, _folder) = self.route.to(next, &sut.join(",")).finish();
            if finished.code != Some(0) {
                faults.push(format!("the next run on {sut:?} ended with {:?}: {}", finished.code, finished.stderr));
            }
        }
        for number in 0..self.nodes.len() {
            if self.nodes[number].is_some() {
                self.end(number);
            }
        }
        for node in self.ending {
            let (code, log) = node.wait_with_log();
            if code != Some(0) || log.contains("panicked") {
                faults.push(format!("a node ended with {code:?}: {log}"));
            }
        }
        faults
    }
}
