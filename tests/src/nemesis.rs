//! Runs that follow one another on four nodes in network namespaces while things go wrong at random, from a seed: nodes
//! and the LoadGen are killed and stopped, cables pulled, links made slow, disks small and descriptors few.
//!
//! Nothing is judged here. What was seen is left in a folder, for `nemesis-check`.

use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::fabric::{Fabric, FabricSpec, Host};
use crate::process::{Finished, LoadGen, SutNode};
use crate::run_folder::RunFolder;
use crate::test_run::TestRun;

const NODES: usize = 4;
const PORT: u16 = 8_000;
const NAMES: [&str; NODES] = ["n1", "n2", "n3", "n4"];
const BACKEND: &str = "synthetic:constant=2ms";

/// Description of a signal to the LoadGen node that may end it.
const SIGNALLED: &str = "sees a signal to the LoadGen node";

/// Longest time after a run until all nodes must be free.
const FREE_WITHIN: &str = "45s";

/// A disk that has room for some files of a run.
const SMALL_DISK_BYTES: u64 = 40 << 10;

/// End of a run, and of the next run, to which nothing happened.
#[derive(Debug, Serialize, Deserialize)]
pub struct End {
    /// The run's process.
    pub pid: u32,
    /// Its exit code; none: a signal ended it.
    pub code: Option<i32>,
    /// Faults that the test caused in the run and its nodes, in words.
    pub faults: Vec<String>,
    /// It was told to end more than once. The second time ends it at once, so what it leaves may be as after a kill.
    pub told_twice: bool,
    /// The process of the next run on all nodes,
    pub next_pid: u32,
    /// its exit code,
    pub next_code: Option<i32>,
    /// what it said if that is not 0,
    pub next_log: String,
    /// and its `result_summary.json`; null where there is none.
    pub next_result: Value,
}

/// Numbers from a seed (splitmix64).
struct Random(u64);

impl Random {
    fn below(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % sides
    }

    fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }

    fn between_ms(&mut self, least: u64, most: u64) -> Duration {
        Duration::from_millis(least + self.below(most - least))
    }
}

/// Does its work for this long, and leaves what it saw in `folder`, which must not exist.
///
/// # Panics
/// Something does not end, or the folder cannot be written.
pub fn disturb(folder: &Path, seed: u64, lasts: Duration) {
    std::fs::create_dir_all(folder.join("nodes")).expect("a folder");
    std::fs::create_dir_all(folder.join("runs")).expect("a folder");
    let fabric = Fabric::new(FabricSpec { hosts: NODES + 1, rate_mbit_s: None });
    let (nodes, ending, folder_kept) = (Default::default(), [false; NODES], folder.to_owned());
    let mut nemesis = Nemesis { fabric, nodes, ending, random: Random(seed), folder: folder_kept };
    let began = Instant::now();
    for number in 0.. {
        if began.elapsed() > lasts {
            break;
        }
        nemesis.run(&folder.join(format!("runs/{number:04}")));
    }
    nemesis.leave();
}

struct Nemesis {
    fabric: Fabric,
    nodes: [Option<SutNode>; NODES],
    /// Those that were told to end.
    ending: [bool; NODES],
    random: Random,
    folder: PathBuf,
}

impl Nemesis {
    fn host(&self, node: usize) -> &Host {
        self.fabric.host(node + 1)
    }

    fn start(&mut self, node: usize) {
        let descriptors = self.random.of(&[0, 0, 0, 0, 0, 48, 64]);
        let script = format!("ulimit -n {descriptors}; exec \"$0\" \"$@\"");
        let under = if descriptors == 0 { &[][..] } else { &["sh", "-c", script.as_str()] };
        let started = SutNode::start_in_under(self.host(node), PORT, under, NAMES[node], BACKEND);
        self.nodes[node] = Some(started);
        self.ending[node] = false;
    }

    /// Waits for the end of a node, and keeps what it said.
    fn end(&mut self, node: usize, signal: Signal) {
        let Some(ending) = self.nodes[node].take() else { return };
        // First: a stopped one does not hear anything else.
        ending.signal(Signal::SIGCONT);
        ending.signal(signal);
        let (code, log) = ending.wait_with_log();
        let path = self.folder.join(format!("nodes/{}.log", NAMES[node]));
        let before = std::fs::read_to_string(&path).unwrap_or_default();
        std::fs::write(path, format!("{before}{log}ended with {code:?} after {signal}\n")).expect("a log");
    }

    fn sut(&self) -> String {
        (0..NODES).map(|node| format!("{}:{PORT}", self.host(node).address())).collect::<Vec<_>>().join(",")
    }

    fn run(&mut self, folder: &Path) {
        self.heal();
        let (test, mut faults) = self.test();
        let (mut run, files) = test.start();
        let pid = run.id();
        if run.has_logged("run started") {
            faults.extend(self.strike(&run));
        }
        let finished = run.finish();
        self.heal();
        let (next, next_files) = self.quiet().start();
        let next_pid = next.id();
        let next = next.finish();
        let next_log = if next.code == Some(0) { String::new() } else { next.stderr };
        let next_result = std::fs::read(next_files.path.join("result_summary.json")).unwrap_or_default();
        let next_result = serde_json::from_slice(&next_result).unwrap_or_default();
        let told_twice = faults.iter().filter(|fault| fault.ends_with(SIGNALLED)).count() > 1;
        let end =
            End { pid, code: finished.code, faults, told_twice, next_pid, next_code: next.code, next_log, next_result };
        keep(folder, &files, &finished, &end);
    }

    /// A run of random shape, and what is wrong with it from the start.
    fn test(&mut self) -> (TestRun, Vec<String>) {
        let scenario = self.random.of(&["SingleStream", "MultiStream", "Server", "Offline"]);
        let mode = self.random.of(&["PerformanceOnly", "PerformanceOnly", "AccuracyOnly", "SubmissionRun"]);
        let transport = self.random.of(&["grpc", "tcp", "quic"]);
        let connections = self.random.of(&["1", "2"]);
        let lasts_ms = self.random.of(&[500, 2_000, 8_000]);
        let settings = format!(
            "min_duration={lasts_ms}ms,min_query_count=64,SingleStream.target_latency=2,Server.target_qps=500,\
             Server.target_latency=4000,Server.target_latency_percentile=90,MultiStream.target_latency=4000,\
             MultiStream.target_latency_percentile=90,Offline.target_qps=2000"
        );
        let mut faults = vec![format!("{scenario} {mode} {transport} {lasts_ms} ms")];
        let mut test = TestRun::new(scenario).dataset("synthetic:u8[64]x1000").set(&settings);
        test = test.inside(self.fabric.host(0)).on(&self.sut()).args(&["--mode", mode, "--transport", transport]);
        test = test.args(&["--connections", connections, "--response-timeout", "5s"]);
        match self.random.below(10) {
            0 => {
                faults.push("a small disk".to_owned());
                test = test.into(RunFolder::on_small_disk(SMALL_DISK_BYTES));
            }
            1 => {
                let limit = self.random.of(&["ulimit -n 24", "ulimit -n 48", "trap '' XFSZ; ulimit -f 8"]);
                faults.push(limit.to_owned());
                test = test.under(&["sh", "-c", &format!("{limit}; exec \"$0\" \"$@\"")]);
            }
            _ => {}
        }
        (test, faults)
    }

    /// A run that nothing happens to, on all nodes.
    fn quiet(&self) -> TestRun {
        let test = TestRun::new("Offline").inside(self.fabric.host(0)).on(&self.sut());
        let test = test.set("min_duration=0,min_query_count=40,target_qps=1");
        test.args(&["--wait-ready", FREE_WITHIN, "--max-lag", "30s"])
    }

    /// Up to four things go wrong; what they were.
    fn strike(&mut self, run: &LoadGen) -> Vec<String> {
        let mut done = Vec::new();
        for _ in 0..self.random.below(5) {
            sleep(self.random.between_ms(50, 900));
            let node = self.random.below(NODES as u64) as usize;
            let what = match self.random.below(12) {
                0 => self.kill(node),
                1 => {
                    self.kill(node);
                    self.start(node);
                    "is killed and started again"
                }
                2 => {
                    self.ending[node] = true;
                    self.tell(node, Signal::SIGTERM, "is told to end")
                }
                3 => self.tell(node, Signal::SIGSTOP, "is stopped"),
                4 => {
                    self.tell(node, Signal::SIGSTOP, "");
                    sleep(self.random.between_ms(100, 4_000));
                    self.tell(node, Signal::SIGCONT, "stands still for a while")
                }
                5 => {
                    self.fabric.cut(self.host(node));
                    "is cut off"
                }
                6 | 7 => {
                    self.fabric.cut(self.host(node));
                    sleep(self.random.between_ms(100, 4_000));
                    self.fabric.heal(self.host(node));
                    "is cut off for a while"
                }
                8 | 9 => {
                    let rate_mbit_s = self.random.of(&[1, 10, 100]);
                    self.fabric.reshape(self.host(node), Some(rate_mbit_s));
                    "has a slow link"
                }
                10 => {
                    run.signal(Signal::SIGSTOP);
                    sleep(self.random.between_ms(100, 4_000));
                    run.signal(Signal::SIGCONT);
                    "sees the LoadGen node stand still"
                }
                _ => {
                    run.signal(self.random.of(&[Signal::SIGINT, Signal::SIGTERM, Signal::SIGKILL]));
                    SIGNALLED
                }
            };
            done.push(format!("{} {what}", NAMES[node]));
        }
        done
    }

    fn kill(&mut self, node: usize) -> &'static str {
        self.end(node, Signal::SIGKILL);
        "is killed"
    }

    fn tell(&self, node: usize, signal: Signal, what: &'static str) -> &'static str {
        if let Some(node) = &self.nodes[node] {
            node.signal(signal);
        }
        what
    }

    /// Everything is well again: all nodes are there, and every link carries what it can.
    fn heal(&mut self) {
        for node in 0..NODES {
            self.fabric.heal(self.host(node));
            self.fabric.reshape(self.host(node), None);
            self.tell(node, Signal::SIGCONT, "");
            if self.ending[node] || self.nodes[node].as_mut().is_none_or(SutNode::has_ended) {
                self.end(node, Signal::SIGTERM);
                self.start(node);
            }
        }
    }

    /// Ends the nodes, and writes down what is still there.
    fn leave(mut self) {
        self.heal();
        (0..NODES).for_each(|node| self.end(node, Signal::SIGTERM));
        let pids = self.fabric.hosts().iter().flat_map(Host::processes);
        let lines = pids.map(|pid| {
            let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            format!("{pid} {}\n", String::from_utf8_lossy(&line).replace('\0', " "))
        });
        std::fs::write(self.folder.join("left"), lines.collect::<String>()).expect("a list");
    }
}

/// Copies what is left of a run.
fn keep(folder: &Path, files: &RunFolder, finished: &Finished, end: &End) {
    std::fs::create_dir_all(folder).expect("a folder");
    let log = format!("{}{}", finished.stdout, finished.stderr);
    std::fs::write(folder.join("log"), log).expect("a log");
    std::fs::write(folder.join("end.json"), serde_json::to_string_pretty(end).expect("JSON")).expect("an end");
    let Ok(entries) = std::fs::read_dir(&files.path) else { return };
    std::fs::create_dir(folder.join("run")).expect("a folder");
    for entry in entries.flatten() {
        std::fs::copy(entry.path(), folder.join("run").join(entry.file_name())).expect("a copy");
    }
}
