//! Metrics of a LoadGen node, asked for while its run goes on.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Longest time for a run to reach the state that a test waits for.
pub const PATIENCE: Duration = Duration::from_secs(300);

/// The metrics; none when the port is closed.
pub fn scrape(address: &str) -> Option<String> {
    scrape_as(address, "*/*")
}

/// The same, in a format that is accepted.
pub fn scrape_as(address: &str, accept: &str) -> Option<String> {
    let mut stream = TcpStream::connect(address).ok()?;
    write!(stream, "GET /metrics HTTP/1.1\r\nHost: here\r\nAccept: {accept}\r\n\r\n").ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    Some(body.to_owned())
}

/// Asks until the metrics are as they are wanted; the metrics.
pub fn wait_until(what: &str, is_so: impl Fn(&str) -> bool, address: &str) -> String {
    let start = Instant::now();
    loop {
        let metrics = scrape(address).unwrap_or_default();
        if is_so(&metrics) {
            return metrics;
        }
        assert!(start.elapsed() < PATIENCE, "{what}:\n{metrics}");
        std::thread::sleep(Duration::from_millis(100));
    }
}
