//! A call of the operating system fails, one after the other: files that cannot be written, descriptors, threads and
//! memory that are not to be had. strace makes the calls fail, so the programs are the real ones; a small disk, and
//! limits of the shell do the same from outside.
//!
//! Whatever fails: the program ends in bounded time, without a panic, and says something; a result that is VALID has
//! all its files. [`FolderCheck`] knows what else must hold.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use lon_tests::folder_check::FolderCheck;
use lon_tests::process::{Finished, SutNode, binary};
use lon_tests::run_folder::RunFolder;
use lon_tests::test_run::TestRun;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::NamedTempFile;

/// Cells at a time.
const AT_ONCE: usize = 4;

/// Longest time of a cell: far more than any takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// Words with which a program without memory ends: of Rust's allocator, of a thread that cannot begin, of glibc.
const OUT_OF_MEMORY: [&str; 3] = ["memory allocation of", "no memory is left", "out of memory"];

/// A kind of call that fails, with the error that it fails with, and the most places at which it is tried.
type Point = (&'static str, &'static str, usize);

/// At the LoadGen node.
const LOADGEN_POINTS: &[Point] = &[
    ("write", "ENOSPC", 40),
    ("write", "EIO", 10),
    ("fsync", "EIO", 12),
    ("rename,renameat,renameat2", "EIO", 12),
    ("mkdir", "ENOSPC", 2),
    ("openat", "EMFILE", 12),
    ("socket", "EMFILE", 4),
    ("epoll_create1", "EMFILE", 3),
    ("clone3", "EAGAIN", 4),
    ("mmap", "ENOMEM", 8),
];

/// At the SUT node.
const NODE_POINTS: &[Point] = &[
    ("accept4", "EMFILE", 4),
    ("accept4", "ECONNABORTED", 2),
    ("socket", "EMFILE", 3),
    ("epoll_create1", "EMFILE", 2),
    ("clone3", "EAGAIN", 4),
    ("mmap", "ENOMEM", 8),
    ("openat", "EMFILE", 4),
];

/// A call that strace makes fail: the one of a number, counted by thread.
struct Injected {
    under: Vec<String>,
    calls: NamedTempFile,
}

impl Injected {
    fn new((calls, error, _): Point, number: usize) -> Injected {
        let file = NamedTempFile::new().unwrap();
        let inject = format!("inject={calls}:error={error}:when={number}");
        let trace = format!("trace={calls}");
        // As the program's grandchild, so that exit codes and signals are the program's; with the names of descriptors.
        let strace = ["strace", "-D", "-f", "-qq", "-y", "--seccomp-bpf", "-o", file.path().to_str().unwrap()];
        let under = strace.into_iter().chain(["-e", &trace, "-e", &inject]).map(str::to_owned).collect();
        Injected { under, calls: file }
    }

    /// The command that becomes the program.
    fn under(&self) -> Vec<&str> {
        self.under.iter().map(String::as_str).collect()
    }

    /// Returns true when the failed call has nothing to do with files. Threads wake each other by writing to a counter,
    /// which cannot fail, and a screen that is not there is no fault of a result.
    fn is_beside_the_point(&self) -> bool {
        // strace ends a moment after the program.
        for _ in 0..100 {
            let text = std::fs::read_to_string(self.calls.path()).unwrap();
            let is_beside = |line: &str| line.contains("[eventfd]") || line.contains("write(1<");
            // A call that other threads' calls came between stands in two lines; the first has the descriptor.
            let starts_beside = |number: usize, line: &str| {
                let thread = line.split(' ').next().unwrap_or_default();
                let before = text.lines().take(number).filter(|line| line.starts_with(thread));
                before.filter(|line| line.contains("<unfinished")).last().is_some_and(is_beside)
            };
            let mut failed = text.lines().enumerate().filter(|(_, line)| line.contains("(INJECTED)")).peekable();
            if failed.peek().is_some() {
                return failed.any(|(number, line)| {
                    is_beside(line) || (line.contains("resumed>") && starts_beside(number, line))
                });
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        false
    }
}

/// The places at which a call can fail, at most so many, from a run in which none does: how often the busiest thread
/// makes it.
fn places(calls: &[Point], run: impl Fn(&[&str])) -> Vec<(Point, Vec<usize>)> {
    let all: Vec<&str> = calls.iter().map(|(calls, ..)| *calls).collect();
    let (folder, trace) = (tempfile::tempdir().unwrap(), format!("trace={}", all.join(",")));
    let path = folder.path().join("calls");
    run(&["strace", "-D", "-f", "-qq", "-o", path.to_str().unwrap(), "-e", &trace]);
    let text = std::fs::read_to_string(&path).unwrap();
    let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for line in text.lines() {
        let Some((thread, call)) = line.split_once(' ') else { continue };
        let name = call.trim_start().split('(').next().unwrap_or_default();
        *counts.entry((thread, name)).or_default() += 1;
    }
    let most = |calls: &str| {
        let of = |thread: &str| calls.split(',').filter_map(|call| counts.get(&(thread, call))).sum();
        counts.keys().map(|(thread, _)| of(thread)).max().unwrap_or(0)
    };
    let spread = |point: &Point| {
        let (calls, _, at_most) = *point;
        let most: usize = most(calls);
        let count = at_most.min(most);
        // The last ones first: files are written at the end.
        (*point, (0..count).map(|place| most - place * most / count).collect())
    };
    calls.iter().map(spread).collect()
}

fn short(node: &str) -> TestRun {
    let settings = "min_duration=0,min_query_count=200,target_qps=1";
    TestRun::new("Offline").on(node).set(settings).args(&["--max-lag", "30s", "--response-timeout", "5s"])
}

/// Returns true when the output has a panic that lack of memory does not explain.
fn is_bug(output: &str) -> bool {
    output.lines().any(|line| line.contains("panicked at") && !line.contains("no memory is left"))
}

/// Returns the faults at the end of a LoadGen node, for any failed call.
fn faults_of(finished: &Finished, folder: &RunFolder) -> Vec<String> {
    // A program without memory ends at once, as if it were killed, and cannot clean up.
    let has_no_memory = OUT_OF_MEMORY.iter().any(|phrase| finished.stderr.contains(phrase));
    let code = finished.code.filter(|_| !has_no_memory);
    let mut faults = FolderCheck::of(&folder.path, code).faults;
    let output = format!("{}{}", finished.stdout, finished.stderr);
    if is_bug(&output) {
        faults.push(format!("a panic: {output}"));
    }
    if finished.code != Some(0) && finished.stderr.trim().is_empty() {
        faults.push(format!("it ended with {:?} and said nothing", finished.code));
    }
    faults
}

/// Does all of these, some at a time, and shows what is wrong.
fn assert_all<T: Sync>(cells: &[T], name: impl Fn(&T) -> String + Sync, judge: impl Fn(&T) -> Vec<String> + Sync) {
    let (next, wrong, began) = (AtomicUsize::new(0), Mutex::new(Vec::new()), Instant::now());
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(cell) = cells.get(next.fetch_add(1, Relaxed)) {
                    let faults = judge(cell);
                    if !faults.is_empty() {
                        wrong.lock().unwrap().push(format!("{}\n    {}", name(cell), faults.join("\n    ")));
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    println!("{} cells in {:.0?}", cells.len(), began.elapsed());
    assert!(wrong.is_empty(), "{} of {} are wrong:\n{}", wrong.len(), cells.len(), wrong.join("\n"));
}

fn flat(places: Vec<(Point, Vec<usize>)>) -> Vec<(Point, usize)> {
    let each = |(point, numbers): (Point, Vec<usize>)| numbers.into_iter().map(move |number| (point, number));
    places.into_iter().flat_map(each).collect()
}

fn name((point, number): &(Point, usize)) -> String {
    format!("{} number {number} fails with {}", point.0, point.1)
}

#[test]
#[ignore = ".ci/run kernel"]
fn a_loadgen_whose_calls_fail_says_so_and_leaves_nothing_that_looks_whole() {
    let run = |under: &[&str]| {
        let node = SutNode::start("a", "null", &[]);
        let (finished, folder) = short(&node.address).under(under).finish();
        assert_eq!((finished.code, faults_of(&finished, &folder)), (Some(0), vec![]), "{finished:?}");
    };
    let cells = flat(places(LOADGEN_POINTS, run));
    assert!(cells.len() >= 40, "{} places", cells.len());
    assert_all(&cells, name, |(point, number)| {
        let node = SutNode::start("a", "null", &[]);
        let injected = Injected::new(*point, *number);
        let (finished, folder) = short(&node.address).under(&injected.under()).finish();
        let mut faults = faults_of(&finished, &folder);
        if point.0 == "clone3" && finished.stderr.contains("cannot write") {
            faults.push(format!("a missing thread is told as a file's fault: {}", finished.stderr));
        }
        // Nothing excuses a success that is none, nor a panic but that of threads that cannot be woken.
        let count_of = |what: &str| finished.stdout.matches(what).count() + finished.stderr.matches(what).count();
        let is_excusable = finished.code != Some(0) && count_of("panicked at") <= count_of("failed to wake I/O driver");
        if !faults.is_empty() && is_excusable && injected.is_beside_the_point() { Vec::new() } else { faults }
    });
}

/// A SUT node that may not come up.
struct Shaky(Child);

impl Drop for Shaky {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Shaky {
    fn start(under: &[&str], log: &Path) -> (Shaky, Option<String>) {
        let mut command = Command::new(under[0]);
        command.args(&under[1..]).arg(binary("sut-node"));
        command.args(["serve", "--listen", "127.0.0.1:0", "--node", "a", "--backend", "synthetic:constant=1ms"]);
        let log = std::fs::File::create(log).unwrap();
        let mut child = command.stdout(Stdio::piped()).stderr(log).spawn().unwrap();
        let mut out = child.stdout.take().unwrap();
        let (mut line, mut byte) = (String::new(), [0]);
        while !line.ends_with('\n') && out.read(&mut byte).is_ok_and(|count| count == 1) {
            line.push(char::from(byte[0]));
        }
        let address = line.trim().rsplit_once(" on ").map(|(_, address)| address.to_owned());
        (Shaky(child), address)
    }

    fn end(&mut self) -> Option<i32> {
        let deadline = Instant::now() + PATIENCE;
        let _ = kill(Pid::from_raw(self.0.id() as i32), Signal::SIGTERM);
        while Instant::now() < deadline {
            if let Some(status) = self.0.try_wait().unwrap() {
                return status.code();
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("a node does not end");
    }
}

/// Returns the faults of a node whose calls fail, and of a run that meets it.
fn faults_of_node(under: &[&str]) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let (mut node, address) = Shaky::start(under, &log);
    let mut faults = Vec::new();
    if let Some(address) = &address {
        let (finished, files) = short(address).finish();
        faults.extend(faults_of(&finished, &files));
        // Each call fails only once: a node that still runs serves the next run.
        let (next, files) = short(address).args(&["--wait-ready", "20s"]).finish();
        faults.extend(faults_of(&next, &files));
        if node.0.try_wait().unwrap().is_none() && next.code != Some(0) {
            faults.push(format!("the next run ends with {:?}: {}", next.code, next.stderr));
        }
    }
    let code = node.end();
    let text = std::fs::read_to_string(&log).unwrap();
    if is_bug(&text) {
        faults.push(format!("a panic: {text}"));
    }
    if address.is_none() && (code == Some(0) || text.trim().is_empty()) {
        faults.push(format!("it did not come up, ended with {code:?} and said: {text}"));
    }
    faults
}

#[test]
#[ignore = ".ci/run kernel"]
fn a_node_whose_calls_fail_serves_the_next_run_or_says_why_not() {
    let run = |under: &[&str]| assert_eq!(faults_of_node(under), Vec::<String>::new());
    let cells = flat(places(NODE_POINTS, run));
    assert!(cells.len() >= 12, "{} places", cells.len());
    assert_all(&cells, name, |(point, number)| faults_of_node(&Injected::new(*point, *number).under()));
}

/// Every page that is missing is another file that cannot be written, or another half of one.
#[test]
#[ignore = ".ci/run kernel"]
fn a_disk_that_is_full_at_any_place_leaves_nothing_that_looks_whole() {
    let node = SutNode::start("a", "null", &[]);
    // The LoadGen node saves here what the full disk does not take. The folder goes away at the end of the test.
    let elsewhere = tempfile::tempdir().unwrap();
    let temporary = format!("TMPDIR={}", elsewhere.path().display());
    let finish = |bytes| {
        let test = short(&node.address).into(RunFolder::on_small_disk(bytes));
        test.under(&["env", &temporary]).finish()
    };
    let (finished, folder) = finish(4 << 20);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let used: u64 = std::fs::read_dir(&folder.path)
        .unwrap()
        .map(|entry| entry.unwrap().metadata().unwrap().len().next_multiple_of(PAGE))
        .sum();
    for pages in 1..used / PAGE {
        let (finished, folder) = finish(pages * PAGE);
        assert_eq!(faults_of(&finished, &folder), Vec::<String>::new(), "{pages} pages: {finished:?}");
        // Before the run, where there is no room for anything.
        assert!(matches!(finished.code, Some(1 | 2)), "{pages} pages: {finished:?}");
        assert!(finished.stderr.contains("No space left"), "{pages} pages: {finished:?}");
    }
}

const PAGE: u64 = 4_096;

/// Limits of the shell, from those under which nothing works to those that do not matter.
#[test]
#[ignore = ".ci/run kernel"]
fn limits_of_descriptors_files_and_memory_are_met_with_words() {
    let limits: Vec<String> = (4..=40)
        .step_by(4)
        .map(|descriptors| format!("ulimit -n {descriptors}"))
        .chain([1, 2, 4, 8, 16].map(|blocks| format!("trap '' XFSZ; ulimit -f {blocks}")))
        // Less than the programs themselves are large ends them before they begin.
        .chain([80, 100, 120, 150, 200, 300, 400].map(|mb| format!("ulimit -v {}", mb * 1_000)))
        .collect();
    assert_all(&limits, String::clone, |limit| {
        let script = format!("{limit}; exec \"$0\" \"$@\"");
        let under = ["sh", "-c", &script];
        let node = SutNode::start("a", "null", &[]);
        let (finished, folder) = short(&node.address).under(&under).finish();
        let mut faults = faults_of(&finished, &folder);
        if !limit.contains("-f") {
            faults.extend(faults_of_node(&under));
        }
        faults
    });
}

/// A control group with a limit of memory, by the interface that this machine has. Removed when dropped.
struct Group(PathBuf);

impl Group {
    fn with_memory(name: &str, bytes: u64) -> Group {
        let name = format!("lon-test-{}-{name}", std::process::id());
        let is_one_tree = Path::new("/sys/fs/cgroup/cgroup.controllers").exists();
        let (above, limit) = match is_one_tree {
            true => ("/sys/fs/cgroup", "memory.max"),
            false => ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
        };
        if is_one_tree {
            std::fs::write("/sys/fs/cgroup/cgroup.subtree_control", "+memory")
                .expect("root, and the memory controller");
        }
        let group = Group(Path::new(above).join(name));
        std::fs::create_dir(&group.0).expect("root, and control groups");
        std::fs::write(group.0.join(limit), bytes.to_string()).expect("a limit of memory");
        group
    }

    /// A program that joins the group and becomes another.
    fn join(&self) -> [String; 3] {
        let script = format!("echo $$ >{}/cgroup.procs; exec \"$0\" \"$@\"", self.0.display());
        ["sh".to_owned(), "-c".to_owned(), script]
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Once the last of its processes is gone.
        for _ in 0..100 {
            if std::fs::remove_dir(&self.0).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// A node keeps to the limit by itself; a LoadGen node whose dataset does not fit is ended by the kernel, and leaves a
/// folder that says so.
#[test]
#[ignore = ".ci/run kernel"]
fn limits_of_memory_of_control_groups_are_kept_or_told() {
    let group = Group::with_memory("node", 256 << 20);
    let join = group.join();
    let node = SutNode::start_under(&join.each_ref().map(String::as_str), "a", "null", &[]);
    let large = short(&node.address).dataset("synthetic:u8[16000000]x4").args(&["--io-threads", "1"]);
    let (finished, folder) = large.finish();
    assert_eq!((finished.code, faults_of(&finished, &folder)), (Some(0), vec![]), "{finished:?}");
    let small = Group::with_memory("loadgen", 48 << 20);
    let join = small.join();
    let large = short(&node.address).dataset("synthetic:u8[16000000]x16");
    let (finished, folder) = large.under(&join.each_ref().map(String::as_str)).finish();
    assert_eq!((finished.code, faults_of(&finished, &folder)), (None, vec![]), "{finished:?}");
    let check = FolderCheck::of(&folder.path, finished.code);
    assert!(check.verdict_text().contains("has not ended"), "{:?}", check.result);
    let (next, _folder) = short(&node.address).args(&["--wait-ready", "20s"]).finish();
    assert_eq!(next.code, Some(0), "{next:?}");
}
