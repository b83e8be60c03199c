//! The file that `submission init` writes: what has to be filled in, each line with what belongs there. What a run has
//! found of the system is filled in already.

use std::fmt::Write as _;

use serde_json::Value;

use super::blanks::HEAD;
use super::system::must_have_a_text;
use crate::outputs::documents::system_desc::{SystemDesc, wanted};
use crate::test_run::stated::{NETWORK_KEYS, SYSTEM_KEYS};

/// The line of the SUT nodes in it.
const NODES: &str = "sut = \"10.0.0.2:8000,10.0.0.3:8000\"";
/// Keys that other parts of the file give.
const ELSEWHERE: [&str; 3] = ["division", "submitter", "is_network"];
/// The texts that most people write.
const USUAL: [(&str, &str); 13] = [
    ("status", "available"),
    ("system_type", "datacenter"),
    ("system_type_detail", "N/A"),
    ("host_networking_topology", "N/A"),
    ("accelerators_per_node", "0"),
    ("accelerator_model_name", "N/A"),
    ("accelerator_memory_capacity", "N/A"),
    ("accelerator_memory_configuration", "N/A"),
    ("accelerator_host_interconnect", "N/A"),
    ("accelerator_interconnect", "N/A"),
    ("cooling", "air"),
    ("network_type", "Ethernet"),
    ("network_media", "copper"),
];
/// Keys that no run finds. Most runs find all others, or these may stay empty.
const TO_STATE: [&str; 4] = ["system_name", "host_memory_configuration", "host_network_card_count", "network_topology"];
/// Ends of explanations that are about one run.
const OF_A_RUN: [&str; 4] = ["did not say", "told of", "was used", "was seen"];

/// The text of the file; with what was found of the nodes, and the flags with which they were reached, each with its
/// value as TOML.
pub(crate) fn text(found: Option<&SystemDesc>, flags: &[(&str, Value)]) -> String {
    let nodes = found.map(|found| found.sut.iter().map(|node| node.address.as_str()).collect::<Vec<_>>().join(","));
    let nodes = nodes.map_or_else(|| NODES.to_owned(), |nodes| format!("sut = {}", quoted(&nodes)));
    let flags: String = flags.iter().map(|(flag, value)| format!("\n{flag} = {value}")).collect();
    let mut text = HEAD.replace(NODES, &(nodes + &flags));
    for key in SYSTEM_KEYS.into_iter().chain(NETWORK_KEYS).filter(|key| !ELSEWHERE.contains(key)) {
        let known = found.and_then(|found| found.official.get(key)?.as_str()).filter(|known| !known.is_empty());
        let usual = USUAL.iter().find(|(usual, _)| *usual == key).map_or("", |(_, text)| text);
        let is_open = TO_STATE.contains(&key) || !usual.is_empty() || found.is_some_and(|found| is_missing(found, key));
        // Writing to a String cannot fail.
        let _ = match (known, is_open) {
            (Some(known), _) => writeln!(text, "# {}\n# {key} = {}", said(key, "Found:"), quoted(known)),
            (None, true) if usual.is_empty() => writeln!(text, "# FILL IN: {}\n{key} = \"\"", said(key, "")),
            (None, true) => writeln!(text, "# {}\n{key} = {}", said(key, ""), quoted(usual)),
            (None, false) if !must_have_a_text(key) => writeln!(text, "# {}\n# {key} = \"\"", said(key, "")),
            (None, false) => writeln!(text, "# {}\n# {key} = \"\"", said(key, "Runs find it.")),
        };
    }
    text
}

/// Returns true when a run has not found the text that belongs under the key, and a person has to write it.
fn is_missing(found: &SystemDesc, key: &str) -> bool {
    must_have_a_text(key) && found.to_be_stated.iter().any(|(missing, _)| missing == key)
}

/// Returns the explanation of a key as a sentence, and a word behind it.
fn said(key: &str, word: &str) -> String {
    let of_run = |part: &&str| !OF_A_RUN.iter().any(|end| part.contains(end));
    let parts: Vec<&str> = wanted(key).split("; ").filter(of_run).collect();
    let text = parts.join("; ");
    let mut letters = text.chars();
    match letters.next() {
        Some(first) if !text.contains("this run") => {
            let stop = if text.ends_with('.') { "" } else { "." };
            format!("{}{}{stop} {word}", first.to_uppercase(), letters.as_str()).trim_end().to_owned()
        }
        _ => word.to_owned(),
    }
}

/// A text of TOML: those of JSON are, too.
fn quoted(text: &str) -> String {
    Value::String(text.to_owned()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_there_once_with_what_belongs_there() {
        let text = text(None, &[]);
        for key in SYSTEM_KEYS.into_iter().chain(NETWORK_KEYS).filter(|key| !ELSEWHERE.contains(key)) {
            let lines = text.lines().filter(|line| line.trim_start_matches("# ").starts_with(&format!("{key} = ")));
            assert_eq!(lines.count(), 1, "{key}");
        }
        assert!(
            text.contains("# FILL IN: The name under which the result is to be listed.\nsystem_name = \"\"\n"),
            "{text}"
        );
        assert!(
            text.contains("# Maker and model of the processors. Runs find it.\n# host_processor_model_name = \"\"\n")
        );
        assert_eq!(quoted("a \"b\""), "\"a \\\"b\\\"\"");
        assert!(!text.contains("did not say") && text.contains(NODES), "{text}");
    }
}
