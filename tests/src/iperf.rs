//! iperf3 between two hosts of a fabric: what others say that a link carries.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};

use serde_json::Value;

use crate::fabric::Host;

/// Which way the bytes go, as the client sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the client to the server.
    Up,
    /// From the server to the client.
    Down,
}

/// TCP's goodput between two hosts in bits per second, over `seconds`, as the receiver counted it.
///
/// # Panics
/// iperf3 complains.
pub fn goodput_bits_per_s(client: &Host, server: &Host, direction: Direction, seconds: u32) -> f64 {
    goodput_of_streams_bits_per_s(client, server, direction, seconds, 1)
}

/// The same of so many streams at once (`-P`).
///
/// # Panics
/// iperf3 complains.
pub fn goodput_of_streams_bits_per_s(
    client: &Host,
    server: &Host,
    direction: Direction,
    seconds: u32,
    streams: u32,
) -> f64 {
    let listening = Server::start(server);
    let mut command = client.command("iperf3");
    command.args(["--json", "--connect-timeout", "5000", "--time", &seconds.to_string()]);
    command.args(["--client", &server.address().to_string(), "--parallel", &streams.to_string()]);
    if direction == Direction::Down {
        command.arg("--reverse");
    }
    let output = command.output().expect("iperf3 starts");
    drop(listening);
    let text = String::from_utf8_lossy(&output.stdout);
    let report: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("iperf3: {error}: {text}"));
    let received = report.pointer("/end/sum_received/bits_per_second").and_then(Value::as_f64);
    received.unwrap_or_else(|| panic!("iperf3: {}", report.get("error").unwrap_or(&report)))
}

/// A server for one client. Killed when dropped.
struct Server(Child);

impl Server {
    /// Returns when it listens.
    fn start(host: &Host) -> Server {
        let mut command = host.command("iperf3");
        command.args(["--server", "--one-off", "--forceflush", "--bind", &host.address().to_string()]);
        let mut child = command.stdout(Stdio::piped()).spawn().expect("iperf3 starts");
        let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        // The guard exists before the server listens, so that the server is killed even when the check below fails.
        let server = Server(child);
        let listens = lines.by_ref().map_while(Result::ok).any(|line| line.contains("listening"));
        assert!(listens, "iperf3 ended before it listened");
        // A thread reads the rest of the output, or iperf3 would die of a closed pipe.
        std::thread::spawn(move || lines.for_each(drop));
        server
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
