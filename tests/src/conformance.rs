//! The command `conformance`, and the rules that its document lists.

use serde_json::Value;

use crate::process::{Finished, LoadGen};

/// Checks the node at this address over a transport.
pub fn check(sut: &str, transport: &str) -> (Finished, Value) {
    let finished =
        LoadGen::run(&["conformance", "--sut", sut, "--transport", transport, "--json", "--wait-ready", "60s"]);
    let document = serde_json::from_str(&finished.stdout).unwrap_or_else(|error| panic!("{error}: {finished:?}"));
    (finished, document)
}

/// The rules with this verdict.
pub fn rules<'d>(document: &'d Value, verdict: &str) -> Vec<&'d str> {
    let rules = document["rules"].as_array().unwrap();
    rules.iter().filter(|rule| rule["verdict"] == verdict).map(|rule| rule["id"].as_str().unwrap()).collect()
}
