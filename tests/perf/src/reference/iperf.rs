//! iperf3, the program that a user would measure the same path with.

use std::io::ErrorKind;
use std::net::{Ipv4Addr, TcpListener};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use crate::process::{Place, Starter};

/// Goodput, bytes per second.
pub(crate) fn goodput(starter: &Starter, seconds: f64, patience: Duration) -> Result<f64> {
    if Command::new("iperf3").arg("--version").output().is_err_and(|error| error.kind() == ErrorKind::NotFound) {
        bail!("reference missing: apt-get install iperf3");
    }
    // It takes no port 0; nobody else is likely to take this one in between.
    let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port().to_string();
    let mut command = Command::new("iperf3");
    command.args(["--server", "--one-off", "--bind", "127.0.0.1", "--port", &port]);
    let _server = starter.start(&mut command, Place::Anywhere)?;
    let deadline = Instant::now() + patience;
    loop {
        let mut command = Command::new("iperf3");
        command.args(["--client", "127.0.0.1", "--port", &port, "--length", "1M", "--window", "2M", "--json"]);
        command.args(["--time", &format!("{:.0}", seconds.ceil())]);
        let ended = starter.start(&mut command, Place::Anywhere)?.wait(patience)?;
        match received(&ended.stdout) {
            // It does not say when it listens.
            Err(error) if error.to_string().contains("refused") && Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(20));
            }
            result => return result,
        }
    }
}

/// Returns the goodput that the receiver counted, bytes per second.
fn received(json: &str) -> Result<f64> {
    let json: Value = serde_json::from_str(json).context("iperf3 did not print JSON")?;
    if let Some(error) = json["error"].as_str() {
        bail!("iperf3: {error}");
    }
    let bits = json.pointer("/end/sum_received/bits_per_second").and_then(Value::as_f64);
    Ok(bits.context("iperf3 did not say what was received")? / 8.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_receiver_counted() {
        assert_eq!(received(r#"{"end":{"sum_received":{"bits_per_second":16e9}}}"#).unwrap(), 2e9);
        assert_eq!(received(r#"{"error":"refused"}"#).unwrap_err().to_string(), "iperf3: refused");
        assert!(received("oops").is_err() && received("{}").is_err());
    }
}
