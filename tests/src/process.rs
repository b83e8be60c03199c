//! The two programs as child processes. Nothing here sleeps to let a program start: it reads what the program says.

use std::io::{BufRead as _, BufReader, Read as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::net::TcpSocket;

use crate::fabric::Host;
use crate::{schemas, threads};

/// Where the tests' own build put a program.
///
/// # Panics
/// It is not there: `cargo test --workspace` builds it, testing this package alone does not.
pub fn binary(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("a test knows its own path");
    // A test runs from target/<profile>/deps, a program of the tests from the folder above it.
    let mut above = test.ancestors().skip(1);
    let folder = above.find(|folder| !folder.ends_with("deps")).expect("it lies in a folder");
    let path = folder.join(name);
    assert!(path.exists(), "{} is not built: run cargo test --workspace, or cargo build --workspace", path.display());
    path
}

/// A file of the repository.
pub fn repository(path: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("this package lies in the repository");
    root.join(path)
}

/// A `sut-node serve` that is ready. Killed when dropped.
pub struct SutNode {
    child: Child,
    log: Option<JoinHandle<String>>,
    /// Where it listens.
    pub address: String,
}

impl SutNode {
    /// Starts one on a free port of 127.0.0.1 and waits until it says that it serves.
    pub fn start(node: &str, backend: &str, more: &[&str]) -> SutNode {
        SutNode::start_on("127.0.0.1:0", node, backend, more)
    }

    /// The same on a given address.
    pub fn start_on(listen: &str, node: &str, backend: &str, more: &[&str]) -> SutNode {
        SutNode::spawn(Command::new(binary("sut-node")), listen, node, backend, more)
    }

    /// The same, started by another program that is to become it, as `sh -c 'ulimit ...; exec "$0" "$@"'` does.
    pub fn start_under(under: &[&str], node: &str, backend: &str, more: &[&str]) -> SutNode {
        SutNode::spawn(command_under(under, "sut-node"), "127.0.0.1:0", node, backend, more)
    }

    /// Many nodes in one process (`--nodes` in `more`), on ports from that of `listen` on; started by another program
    /// where `under` has one.
    pub fn start_many(under: &[&str], listen: &str, nodes: &str, backend: &str, more: &[&str]) -> SutNode {
        SutNode::spawn(command_under(under, "sut-node"), listen, nodes, backend, more)
    }

    /// The same on a host of a fabric, in plain text unless `more` says otherwise.
    pub fn start_in(host: &Host, node: &str, backend: &str, more: &[&str]) -> SutNode {
        let plain = if more.contains(&"--tls-cert") { &[][..] } else { &["--insecure"] };
        let listen = format!("{}:0", host.address());
        SutNode::spawn(host.command(binary("sut-node")), &listen, node, backend, &[plain, more].concat())
    }

    /// The same on a port of it, started by another program that is to become the node. Its log is in JSON.
    pub fn start_in_under(host: &Host, port: u16, under: &[&str], node: &str, backend: &str) -> SutNode {
        let (command, listen) = (command_in(host, under, "sut-node"), format!("{}:{port}", host.address()));
        SutNode::spawn(command, &listen, node, backend, &["--insecure", "--log-format", "json"])
    }

    fn spawn(mut command: Command, listen: &str, node: &str, backend: &str, more: &[&str]) -> SutNode {
        command.args(["serve", "--listen", listen, "--node", node, "--backend", backend]).args(more);
        command.env("LON_PRIORITY", USUAL);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("sut-node starts");
        let log = collect(child.stderr.take());
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("piped")).read_line(&mut line).expect("sut-node speaks");
        let address = line.trim().rsplit_once(" on ").map(|(_, address)| address.to_owned());
        SutNode { child, log: Some(log), address: address.unwrap_or_else(|| panic!("no address in '{line}'")) }
    }

    /// Its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal.
    pub fn signal(&self, signal: Signal) {
        send(&self.child, signal);
    }

    /// Returns true when the node has ended.
    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().expect("a child can be waited for").is_some()
    }

    /// Waits for it to end by itself; its exit code.
    pub fn wait(self) -> Option<i32> {
        self.wait_with_log().0
    }

    /// The same, and what it said on standard error.
    pub fn wait_with_log(mut self) -> (Option<i32>, String) {
        let code = wait(&mut self.child, Duration::from_secs(300), |_| {});
        let log = self.log.take().and_then(|log| log.join().ok());
        (code, log.unwrap_or_default())
    }
}

impl Drop for SutNode {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The value of `--sut` for these nodes.
pub fn sut(nodes: &[SutNode]) -> String {
    nodes.iter().map(|node| node.address.as_str()).collect::<Vec<_>>().join(",")
}

/// The priority of programs unless a test asks for another one: many run at a time, and real-time threads would keep
/// the others from their cores.
const USUAL: &str = "normal";

/// A program of ours as the last arguments of others; on its own where there are none.
fn command_under(under: &[&str], program: &str) -> Command {
    let Some((first, arguments)) = under.split_first() else { return Command::new(binary(program)) };
    let mut command = Command::new(first);
    command.args(arguments).arg(binary(program));
    command
}

/// The same on a host of a fabric.
fn command_in(host: &Host, under: &[&str], program: &str) -> Command {
    let Some((first, arguments)) = under.split_first() else { return host.command(binary(program)) };
    let mut command = host.command(first);
    command.args(arguments).arg(binary(program));
    command
}

/// A `loadgen-node` under way. Killed when dropped.
pub struct LoadGen {
    child: Child,
    /// Bytes read so far from its standard error.
    stderr_bytes: Vec<u8>,
    /// Bytes read so far from its standard output.
    printed: Vec<u8>,
    /// The schemas that what it prints may fit; empty where it prints no document.
    prints: &'static [&'static str],
}

impl Drop for LoadGen {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Exit code and output of a program that has ended.
#[derive(Debug, Default)]
pub struct Finished {
    /// Its exit code; none when a signal ended it.
    pub code: Option<i32>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
    /// Its threads after half a minute, where it took so long to end.
    pub slow: Option<String>,
}

/// From this time on it is of interest where a program is that is expected to end.
const SLOW: Duration = Duration::from_secs(30);

impl LoadGen {
    /// Starts `loadgen-node` with these arguments.
    pub fn start(args: &[&str]) -> LoadGen {
        LoadGen::spawn(Command::new(binary("loadgen-node")), args)
    }

    /// The same on a host of a fabric.
    pub fn start_in(host: &Host, under: &[&str], args: &[&str]) -> LoadGen {
        LoadGen::spawn(command_in(host, under, "loadgen-node"), args)
    }

    /// The same, started by another program that is to become it.
    pub fn start_under(under: &[&str], args: &[&str]) -> LoadGen {
        LoadGen::spawn(command_under(under, "loadgen-node"), args)
    }

    fn spawn(mut command: Command, args: &[&str]) -> LoadGen {
        command.env("LON_PRIORITY", USUAL);
        command.args(args).env("RUST_LOG", "info").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        LoadGen {
            child: command.spawn().expect("loadgen-node starts"),
            stderr_bytes: Vec::new(),
            printed: Vec::new(),
            prints: schemas::printed(args),
        }
    }

    /// Its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Runs it to its end.
    pub fn run(args: &[&str]) -> Finished {
        LoadGen::start(args).finish()
    }

    /// Sends a signal.
    pub fn signal(&self, signal: Signal) {
        send(&self.child, signal);
    }

    /// Standard error as far as it was read.
    pub fn log(&self) -> String {
        String::from_utf8_lossy(&self.stderr_bytes).into_owned()
    }

    /// Reads standard error until a line contains `text`.
    ///
    /// # Panics
    /// It ends without.
    pub fn wait_for_log(&mut self, text: &str) {
        let is_said = self.has_logged(text);
        assert!(is_said, "loadgen-node ended without saying '{text}': {}", String::from_utf8_lossy(&self.stderr_bytes));
    }

    /// The same; false when it ends without.
    pub fn has_logged(&mut self, text: &str) -> bool {
        let stderr = self.child.stderr.as_mut().expect("piped");
        let mut byte = [0];
        while !self.stderr_bytes.ends_with(text.as_bytes()) {
            match stderr.read(&mut byte) {
                Ok(1) => self.stderr_bytes.push(byte[0]),
                _ => return false,
            }
        }
        true
    }

    /// Where it says that it serves metrics.
    pub fn metrics_address(&mut self) -> String {
        const SAID: &str = "metrics are served at /metrics address=";
        self.wait_for_log(SAID);
        self.wait_for_log("\n");
        let log = self.log();
        let (_, behind) = log.split_once(SAID).expect("it was waited for");
        behind.split_whitespace().next().expect("an address").to_owned()
    }

    /// Reads standard output until a line is as wanted. What was read is in `stdout` at the end as well.
    ///
    /// # Panics
    /// It ends without.
    pub fn wait_for_line(&mut self, is_wanted: impl Fn(&str) -> bool) {
        let stdout = self.child.stdout.as_mut().expect("piped");
        let (mut line, mut byte) = (Vec::new(), [0]);
        loop {
            match stdout.read(&mut byte) {
                Ok(1) => line.push(byte[0]),
                _ => panic!("loadgen-node ended without the line: {}", String::from_utf8_lossy(&self.printed)),
            }
            if byte == *b"\n" {
                self.printed.extend(&line);
                if is_wanted(&String::from_utf8_lossy(&line)) {
                    return;
                }
                line.clear();
            }
        }
    }

    /// Returns true when the program has ended.
    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().expect("a child can be waited for").is_some()
    }

    /// Waits for its end. A run that hangs fails the test: nothing may ever hang. A busy machine is no hang.
    pub fn finish(self) -> Finished {
        self.finish_within(Duration::from_secs(600))
    }

    /// The same for a run that is meant to take longer.
    pub fn finish_within(mut self, patience: Duration) -> Finished {
        let stdout = collect(self.child.stdout.take());
        let stderr = collect(self.child.stderr.take());
        let mut slow = None;
        let code = wait(&mut self.child, patience, |pid| slow = Some(threads::of(pid)));
        let before = String::from_utf8_lossy(&self.stderr_bytes).into_owned();
        let stderr = before + &stderr.join().expect("read");
        let stdout = String::from_utf8_lossy(&self.printed).into_owned() + &stdout.join().expect("read");
        // A signal may end a program while it prints.
        if code.is_some() && !stdout.is_empty() && !self.prints.is_empty() {
            schemas::assert_fits(self.prints, &stdout);
        }
        Finished { code, stdout, stderr, slow }
    }
}

/// Reads a stream to its end on a thread of its own, so that its writer never waits.
fn collect(stream: Option<impl std::io::Read + Send + 'static>) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut stream) = stream {
            let _ = stream.read_to_end(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

fn send(child: &Child, signal: Signal) {
    kill(Pid::from_raw(child.id() as i32), signal).expect("the process takes signals");
}

/// Waits for the end of a program; `is_slow` has its number, once, where that takes longer than [`SLOW`].
fn wait(child: &mut Child, patience: Duration, is_slow: impl FnOnce(u32)) -> Option<i32> {
    let start = Instant::now();
    let deadline = start + patience;
    let mut is_slow = Some(is_slow);
    loop {
        if let Some(status) = child.try_wait().expect("a child can be waited for") {
            return status.code();
        }
        if start.elapsed() > SLOW
            && let Some(is_slow) = is_slow.take()
        {
            is_slow(child.id());
        }
        if Instant::now() > deadline {
            let _ = child.kill();
            let _ = child.wait();
            panic!("still running after {patience:?}");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// An address at which nobody listens, and nobody else will as long as this is there.
pub struct Closed {
    _socket: TcpSocket,
    /// As `HOST:PORT`.
    pub address: String,
}

impl Default for Closed {
    fn default() -> Closed {
        Closed::new()
    }
}

impl Closed {
    /// On a free port of 127.0.0.1.
    pub fn new() -> Closed {
        // Bound, so that the port is taken; without a listener, so that callers are refused.
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.bind(([127, 0, 0, 1], 0).into()).expect("a free port");
        let address = socket.local_addr().expect("an address").to_string();
        Closed { _socket: socket, address }
    }
}

/// The first of so many ports of 127.0.0.1 that follow each other and that nobody has just now. They are below those
/// that the system gives to whoever asks for any.
pub fn free_ports(count: u16) -> u16 {
    const PORTS: std::ops::Range<u32> = 11_000..31_000;
    // Tests of one process must not find the same ones, since what is free now is taken a moment later; those of other
    // processes begin elsewhere.
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let begin = std::process::id().wrapping_mul(1_031);
    let blocks = std::iter::repeat_with(|| begin.wrapping_add(NEXT.fetch_add(u32::from(count), Relaxed)));
    let size = PORTS.end - PORTS.start - u32::from(count);
    let firsts = blocks.take(200).map(|at| (PORTS.start + at % size) as u16);
    let is_free = |first: &u16| (*first..first + count).all(|port| TcpListener::bind(("127.0.0.1", port)).is_ok());
    { firsts }.find(is_free).expect("ports that are free")
}
