//! Calls of iproute2's programs.

use std::process::Command;

use serde_json::Value;

/// Runs it; what it printed.
///
/// # Errors
/// Its complaint, with the call.
pub(super) fn run(program: &str, args: &[&str]) -> Result<String, String> {
    let call = || format!("{program} {}", args.join(" "));
    let output = Command::new(program).args(args).output().map_err(|error| format!("{}: {error}", call()))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(format!("{}: {}", call(), String::from_utf8_lossy(&output.stderr).trim()))
}

/// Runs it; a complaint fails the test.
pub(super) fn must(program: &str, args: &[&str]) -> String {
    run(program, args).unwrap_or_else(|why| panic!("{why}"))
}

/// Runs it and reads what it printed as JSON.
pub(super) fn json(program: &str, args: &[&str]) -> Value {
    let text = must(program, args);
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{program} {}: {error}: {text}", args.join(" ")))
}

/// Turns an interface on. Without addresses of IPv6, for which it would send packets that nobody asked for.
pub(super) fn up(namespace: &str, interface: &str) {
    must("ip", &["-n", namespace, "link", "set", "dev", interface, "addrgenmode", "none"]);
    must("ip", &["-n", namespace, "link", "set", "dev", interface, "up"]);
}
