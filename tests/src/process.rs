//! The two programs as child processes. Nothing here sleeps to let a program start: it reads what the program says.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::fabric::Host;

/// Where the tests' own build put a program.
///
/// # Panics
/// It is not there: `cargo test --workspace` builds it, testing this package alone does not.
pub fn binary(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("a test knows its own path");
    let folder = test.parent().and_then(Path::parent).expect("tests run from target/<profile>/deps");
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

    /// The same on a host of a fabric, in plain text unless `more` says otherwise.
    pub fn start_in(host: &Host, node: &str, backend: &str, more: &[&str]) -> SutNode {
        let plain = if more.contains(&"--tls-cert") { &[][..] } else { &["--insecure"] };
        let listen = format!("{}:0", host.address());
        SutNode::spawn(host.command(binary("sut-node")), &listen, node, backend, &[plain, more].concat())
    }

    fn spawn(mut command: Command, listen: &str, node: &str, backend: &str, more: &[&str]) -> SutNode {
        command.args(["serve", "--listen", listen, "--node", node, "--backend", backend]).args(more);
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

    /// Waits for it to end by itself; its exit code.
    pub fn wait(self) -> Option<i32> {
        self.wait_with_log().0
    }

    /// The same, and what it said on standard error.
    pub fn wait_with_log(mut self) -> (Option<i32>, String) {
        let code = wait(&mut self.child, Duration::from_secs(60));
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

/// A `loadgen-node` under way.
pub struct LoadGen {
    child: Child,
}

/// What a program left behind.
#[derive(Debug)]
pub struct Finished {
    /// Its exit code; none when a signal ended it.
    pub code: Option<i32>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl LoadGen {
    /// Starts `loadgen-node` with these arguments.
    pub fn start(args: &[&str]) -> LoadGen {
        LoadGen::spawn(Command::new(binary("loadgen-node")), args)
    }

    /// The same on a host of a fabric.
    pub fn start_in(host: &Host, args: &[&str]) -> LoadGen {
        LoadGen::spawn(host.command(binary("loadgen-node")), args)
    }

    fn spawn(mut command: Command, args: &[&str]) -> LoadGen {
        command.args(args).env("RUST_LOG", "info").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        LoadGen { child: command.spawn().expect("loadgen-node starts") }
    }

    /// Runs it to its end.
    pub fn run(args: &[&str]) -> Finished {
        LoadGen::start(args).finish()
    }

    /// Sends a signal.
    pub fn signal(&self, signal: Signal) {
        send(&self.child, signal);
    }

    /// Reads standard error until a line contains `text`.
    pub fn wait_for_log(&mut self, text: &str) {
        let stderr = self.child.stderr.as_mut().expect("piped");
        let mut seen = Vec::new();
        let mut byte = [0];
        while !String::from_utf8_lossy(&seen).contains(text) {
            let read = stderr.read(&mut byte).expect("stderr can be read");
            assert_eq!(read, 1, "loadgen-node ended without saying '{text}': {}", String::from_utf8_lossy(&seen));
            seen.push(byte[0]);
        }
    }

    /// Waits for its end. A run that hangs fails the test: nothing may ever hang.
    pub fn finish(mut self) -> Finished {
        let stdout = collect(self.child.stdout.take());
        let stderr = collect(self.child.stderr.take());
        let code = wait(&mut self.child, Duration::from_secs(120));
        Finished { code, stdout: stdout.join().expect("read"), stderr: stderr.join().expect("read") }
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

fn wait(child: &mut Child, patience: Duration) -> Option<i32> {
    let deadline = Instant::now() + patience;
    loop {
        if let Some(status) = child.try_wait().expect("a child can be waited for") {
            return status.code();
        }
        if Instant::now() > deadline {
            let _ = child.kill();
            let _ = child.wait();
            panic!("still running after {patience:?}");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}
