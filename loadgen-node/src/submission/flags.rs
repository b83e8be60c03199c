//! Flags of `loadgen-node run` that a submission's file gives.

use std::collections::BTreeMap;

use anyhow::{Result, bail, ensure};
use toml::Value;

/// Flags that every run gets from here, so that a file cannot give them.
const OURS: [&str; 14] = [
    "accuracy-run",
    "audit-conf",
    "benchmark",
    "division",
    "json",
    "mlperf-conf",
    "mode",
    "out",
    "rules",
    "scenario",
    "set",
    "strict-conf",
    "system-desc",
    "user-conf",
];

/// Flags as they are typed: `--sut=a:1`.
pub(super) fn flags(given: &BTreeMap<String, Value>) -> Result<Vec<String>> {
    let mut flags = Vec::new();
    for (key, value) in given {
        ensure!(!OURS.contains(&key.as_str()), "'{key}' is set by `submission run` itself");
        let values = match value {
            Value::Array(values) => values.as_slice(),
            one => std::slice::from_ref(one),
        };
        for value in values {
            match value {
                Value::Boolean(true) => flags.push(format!("--{key}")),
                Value::Boolean(false) => {}
                Value::String(text) => flags.push(format!("--{key}={text}")),
                Value::Integer(number) => flags.push(format!("--{key}={number}")),
                Value::Float(number) => flags.push(format!("--{key}={number}")),
                other => {
                    bail!("'{key}' is a text, a number, true or false, or a list of these, not a {}", other.type_str())
                }
            }
        }
    }
    Ok(flags)
}

/// A flag that every run gets from here and that the environment gives, too: it would change every run.
pub(super) fn from_environment() -> Option<String> {
    OURS.iter().map(|flag| variable(flag)).find(|name| std::env::var_os(name).is_some())
}

/// The environment variable that stands for a flag of `run`.
fn variable(flag: &str) -> String {
    format!("LON_{}", flag.to_ascii_uppercase().replace('-', "_"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_have_variables() {
        assert_eq!(variable("user-conf"), "LON_USER_CONF");
    }
}
