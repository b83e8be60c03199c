//! Inference servers that nobody of ours wrote, as child processes: what `tests/servers/install.sh` has installed.

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::process::{free_ports, repository};

/// Longest time for a server to end by itself.
const PATIENCE: Duration = Duration::from_secs(10);

/// Where the servers were installed.
///
/// # Panics
/// `LON_TEST_SERVERS` does not say so.
pub fn installed() -> PathBuf {
    let folder =
        std::env::var_os("LON_TEST_SERVERS").expect("LON_TEST_SERVERS is what tests/servers/install.sh prints");
    let folder = PathBuf::from(folder);
    assert!(folder.join("installed").exists(), "{} is not what tests/servers/install.sh left", folder.display());
    folder
}

/// A server that runs. Told to stop when dropped.
pub struct OtherServer {
    child: Child,
    /// Where it listens.
    pub address: String,
}

impl OtherServer {
    /// Triton with the digits as its model `digits`. It says nothing when it is ready: that is for its clients to ask.
    pub fn triton(more: &[&str]) -> OtherServer {
        OtherServer::digits("venv", "triton.py", more)
    }

    /// mlserver with the same, and with `total`, which takes bytes of any number.
    pub fn mlserver() -> OtherServer {
        OtherServer::digits("mlserver", "start_mlserver.py", &[])
    }

    /// kserve with the same as mlserver.
    pub fn kserve() -> OtherServer {
        OtherServer::digits("kserve", "start_kserve.py", &[])
    }

    fn digits(venv: &str, script: &str, more: &[&str]) -> OtherServer {
        let onnx = repository("loadgen-node/qsl/digits/digits.onnx");
        let args = [&["--onnx", onnx.to_str().expect("a path in UTF-8")], more].concat();
        OtherServer::start(venv, script, &args, Stdio::null())
    }

    /// Triton whose model answers OK and not one byte of data: numpy 2 with a backend that was built for numpy 1.
    pub fn silent_triton() -> OtherServer {
        let numpy = installed().join("numpy2");
        OtherServer::triton(&["--numpy", numpy.to_str().expect("a path in UTF-8")])
    }

    /// llama.cpp with a language model of random weights, `tiny`, which is ready.
    pub fn llama(more: &[&str]) -> OtherServer {
        let mut server = OtherServer::start("venv", "llama.py", more, Stdio::piped());
        let mut line = String::new();
        BufReader::new(server.child.stdout.take().expect("piped")).read_line(&mut line).expect("it speaks");
        assert!(line.starts_with("ready on"), "llama.py said '{line}'");
        server
    }

    /// A SUT node in Python that was written from lon.proto alone.
    pub fn python_node() -> OtherServer {
        let script = repository("proto/examples/python_node.py");
        OtherServer::start("kserve", script.to_str().expect("a path in UTF-8"), &[], Stdio::null())
    }

    fn start(venv: &str, script: &str, args: &[&str], stdout: Stdio) -> OtherServer {
        // Free now, and most likely in a moment too: these servers cannot be told to take any.
        let port = free_ports(1);
        let mut command = Command::new(installed().join(venv).join("bin/python"));
        command.arg(repository("tests/servers").join(script)).args(["--port", &port.to_string()]).args(args);
        command.stdin(Stdio::null()).stdout(stdout).stderr(Stdio::null());
        OtherServer { child: command.spawn().expect("python starts"), address: format!("127.0.0.1:{port}") }
    }

    /// As `--sut` has it for servers of KServe's protocol.
    pub fn named(&self, name: &str) -> String {
        format!("{name}={}", self.address)
    }

    /// Sends a signal.
    pub fn signal(&self, signal: Signal) {
        let _ = kill(Pid::from_raw(self.child.id() as i32), signal);
    }
}

impl Drop for OtherServer {
    fn drop(&mut self) {
        // Politely at first, so that it ends its own children.
        self.signal(Signal::SIGTERM);
        let deadline = Instant::now() + PATIENCE;
        while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
