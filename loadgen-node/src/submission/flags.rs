//! Flags of `loadgen-node run` that a submission's file gives.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, ensure};
use toml::Value;

use crate::jobs::flags;

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

/// Flags as they are typed: `--sut=a:1`. `at`: the place of a key.
pub(super) fn flags(table: &BTreeMap<String, Value>, at: impl Fn(&str) -> String) -> Result<Vec<String>> {
    let mut arguments = Vec::new();
    for (key, value) in table {
        ensure!(!OURS.contains(&key.as_str()), "{}: '{key}' is set by `submission run` itself", at(key));
        arguments.extend(flags::arguments(key, value).with_context(|| at(key))?);
    }
    Ok(arguments)
}

/// A flag that every run gets from here and that the environment gives, too: it would change every run.
pub(super) fn from_environment() -> Option<String> {
    flags::from_environment(&OURS)
}
