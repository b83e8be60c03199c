//! Runs that are not as most are, made below one folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread::scope;

use crate::peer::{Behaviour, Peer, Script, Step};
use crate::process::{LoadGen, SutNode, free_ports};
use crate::run_folder::RunFolder;
use crate::test_run::TestRun;
use nix::sys::signal::Signal;
use tempfile::TempDir;
use tonic::Status;

/// Answers nothing while a test lasts.
const SILENT: &str = "synthetic:constant=600s";
/// Nodes of a large system.
const MANY: u16 = 128;

/// Function that makes one of these runs.
type Maker = fn() -> RunFolder;

const MAKERS: [(&str, Maker); 8] = [
    ("silent", silent),
    ("lost", lost),
    ("single", single),
    ("interrupted", interrupted),
    ("killed", killed_and_recovered),
    ("unfinished", killed),
    ("tokens", tokens),
    ("many", many),
];

/// The run folders, by name. Removed when dropped.
pub struct UnusualRuns(TempDir);

impl UnusualRuns {
    /// Makes all of them, a few at a time.
    pub fn make() -> UnusualRuns {
        let above = tempfile::tempdir().unwrap();
        for makers in MAKERS.chunks(4) {
            scope(|scope| {
                for (name, make) in makers {
                    let to = above.path().join(name);
                    scope.spawn(move || fs::rename(&make().path, to).unwrap());
                }
            });
        }
        UnusualRuns(above)
    }

    /// The folder above them.
    pub fn above(&self) -> &Path {
        self.0.path()
    }

    /// The folder of one of them.
    pub fn folder(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// The names of all of them.
    pub fn names(&self) -> Vec<&'static str> {
        MAKERS.map(|(name, _)| name).to_vec()
    }

    /// Those that have ended, or were recovered.
    pub fn whole(&self) -> Vec<PathBuf> {
        self.names().into_iter().filter(|name| *name != "unfinished").map(|name| self.folder(name)).collect()
    }
}

fn long(address: &str) -> TestRun {
    TestRun::new("Server").on(address).set("target_qps=200,min_duration=600s,min_query_count=1")
}

/// No sample is answered in time.
fn silent() -> RunFolder {
    let node = SutNode::start("silent", SILENT, &[]);
    let test = TestRun::new("Server").on(&node.address).set("target_qps=50,min_duration=2500,min_query_count=1");
    let (finished, folder) = test.args(&["--response-timeout", "1s"]).finish();
    assert!(matches!(finished.code, Some(3 | 4)), "{finished:?}");
    folder
}

/// The node is gone before it has answered.
fn lost() -> RunFolder {
    let script: Script =
        |number, _| if number == 3 { vec![Step::Fail(Status::unavailable("gone"))] } else { Vec::new() };
    let peer = Peer::start(Behaviour { script, ..Behaviour::good("lost") });
    let (finished, folder) = long(&peer.address.to_string()).finish();
    assert_eq!(finished.code, Some(4), "{finished:?}");
    folder
}

fn single() -> RunFolder {
    let node = SutNode::start("one", "null", &[]);
    let test = TestRun::new("SingleStream").on(&node.address).set("min_duration=0,min_query_count=1");
    let (finished, folder) = test.finish();
    assert!(matches!(finished.code, Some(0 | 3)), "{finished:?}");
    folder
}

fn interrupted() -> RunFolder {
    let node = SutNode::start("stopped", "null", &[]);
    let (run, folder) = long(&node.address).begin_until_answered(400);
    run.signal(Signal::SIGINT);
    let finished = run.finish();
    assert_eq!(finished.code, Some(5), "{finished:?}");
    folder
}

fn killed() -> RunFolder {
    let node = SutNode::start("killed", "null", &[]);
    let (run, folder) = long(&node.address).begin_until_answered(400);
    folder.wait_until_written("timeline.bin");
    run.signal(Signal::SIGKILL);
    run.finish();
    folder
}

fn killed_and_recovered() -> RunFolder {
    let folder = killed();
    let recovered = LoadGen::run(&["recover", folder.arg()]);
    assert_eq!(recovered.code, Some(0), "{recovered:?}");
    folder
}

fn tokens() -> RunFolder {
    let node = SutNode::start("tokens", "synthetic:ttft=20ms,tpot=2ms,tokens=16", &["--slots", "64"]);
    let settings = "use_token_latencies=1,ttft_latency=60000,tpot_latency=60000,target_latency_percentile=50,\
                    min_duration=1500,min_query_count=200,target_qps=100";
    let test = TestRun::new("Server").on(&node.address).dataset("synthetic:tokens-i64[16]x8").set(settings);
    let (finished, folder) = test.args(&["--max-lag", "60s"]).finish();
    assert!(matches!(finished.code, Some(0 | 3)), "{finished:?}");
    folder
}

fn many() -> RunFolder {
    let first = free_ports(MANY);
    let nodes = MANY.to_string();
    let _nodes = SutNode::start_on(&format!("127.0.0.1:{first}"), "n", "null", &["--nodes", &nodes]);
    let addresses: Vec<String> = (first..first + MANY).map(|port| format!("127.0.0.1:{port}")).collect();
    let test = TestRun::new("Offline").on(&addresses.join(",")).args(&["--max-lag", "60s"]);
    let (finished, folder) = test.set("target_qps=20000,min_duration=1000,min_query_count=1").finish();
    assert!(matches!(finished.code, Some(0 | 3)), "{finished:?}");
    folder
}
