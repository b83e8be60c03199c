//! The description of a system, key by key.

use std::path::Path;

use lon_qsl::benchmark::Suite;
use serde_json::{Map, Value};

use super::super::system::must_have_a_text;
use super::tree::Tree;
use super::tree_division::TreeDivision;
use lon_run::test_run::system_facts::{NETWORK_KEYS, SYSTEM_KEYS, is_official};

/// Keys whose texts the official checker and its report take for whole numbers.
const WHOLE: [&str; 3] = ["number_of_nodes", "accelerators_per_node", "host_processors_per_node"];
/// The key that says whether a system is networked.
const IS_NETWORK: &str = "is_network";
const STATUS: [&str; 3] = ["available", "preview", "rdi"];
/// Values of `system_type`, with the suites whose scenarios a submission must have.
const TYPES: [(&str, &[Suite]); 4] = [
    ("datacenter", &[Suite::Datacenter]),
    ("edge", &[Suite::Edge]),
    ("datacenter,edge", &[Suite::Datacenter, Suite::Edge]),
    ("edge,datacenter", &[Suite::Datacenter, Suite::Edge]),
];

/// The facts that a description states of its system.
#[derive(Default)]
pub(super) struct Described {
    /// The suites that the system is submitted to; empty where that is not said.
    pub(super) suites: &'static [Suite],
    /// True where it is networked.
    pub(super) is_networked: bool,
}

/// Looks at a description.
pub(super) fn check(tree: &mut Tree, path: &Path, division: TreeDivision, submitter: &str) -> Described {
    let Some(text) = tree.text(path) else { return Described::default() };
    let keys: Map<String, Value> = match serde_json::from_str(&text) {
        Ok(keys) => keys,
        Err(error) => {
            tree.add_fault(path, format!("is no JSON object: {error}"));
            return Described::default();
        }
    };
    for what in faults(&keys, division, submitter) {
        tree.add_fault(path, what);
    }
    for what in advice(&keys) {
        tree.advise(path, what);
    }
    let of_type = TYPES.into_iter().find(|(name, _)| keys.get("system_type").and_then(Value::as_str) == Some(name));
    let is_networked = keys.get(IS_NETWORK).and_then(Value::as_str).is_some_and(is_true);
    Described { suites: of_type.map_or(&[], |(_, suites)| suites), is_networked }
}

fn faults(keys: &Map<String, Value>, division: TreeDivision, submitter: &str) -> Vec<String> {
    let mut faults = Vec::new();
    // The official checker asks for the other keys of the network where this one has any text, "False" too.
    let has_network = keys.get(IS_NETWORK).is_some_and(|value| !is_empty(value));
    let is_networked = division.is_networked() == Some(true) || has_network;
    let names = SYSTEM_KEYS.iter().chain(NETWORK_KEYS.iter().filter(|_| is_networked));
    for key in names.copied() {
        match keys.get(key) {
            None => faults.push(format!("lacks the key {key}")),
            Some(value) if !is_empty(value) || !must_have_a_text(key) => {}
            Some(Value::String(_)) => faults.push(format!("says nothing under {key}")),
            Some(value) => {
                faults.push(format!("has {value} under {key}, which the official checker takes for nothing"));
            }
        }
    }
    let one_of = |key: &str, choices: &[&str]| {
        let value = keys.get(key)?;
        let is_known = choices.iter().any(|one| value.as_str().is_some_and(|text| one.eq_ignore_ascii_case(text)));
        (!is_known).then(|| format!("has {key} {value}: {} is wanted", choices.join(" or ")))
    };
    faults.extend(one_of("division", &[division.name()]));
    faults.extend(one_of("submitter", &[submitter]));
    faults.extend(one_of("status", &STATUS));
    faults.extend(one_of("system_type", &TYPES.map(|(name, _)| name)));
    faults.extend(keys.get(IS_NETWORK).and_then(|value| wrong_network(value, division)));
    for key in WHOLE {
        let odd = keys.get(key).filter(|value| !is_empty(value) && !is_whole(value));
        faults.extend(odd.map(|value| format!("has {key} {value}: a whole number is wanted")));
    }
    faults
}

/// True where the official checker, which reads the text alone, takes a system for a networked one.
fn is_true(text: &str) -> bool {
    text.eq_ignore_ascii_case("true")
}

/// The key is `null` or a text, and says what the division has.
fn wrong_network(value: &Value, division: TreeDivision) -> Option<String> {
    let answer = if value.is_null() { Some(false) } else { value.as_str().map(is_true) };
    let rule = division.is_networked();
    let is_right = answer.is_some_and(|answer| rule.is_none_or(|rule| rule == answer));
    let choice = rule.map_or("True or False", |rule| if rule { "True" } else { "False" });
    (!is_right).then(|| format!("has {IS_NETWORK} {value}: {choice} is wanted"))
}

/// Spellings that the official checker takes, though its texts show others.
fn advice(keys: &Map<String, Value>) -> Vec<String> {
    let of_key = |(key, value): (&String, &Value)| match value {
        _ if !is_official(key) => Some(format!("has the key {key}, which the official checker does not know")),
        Value::String(text) if must_have_a_text(key) && !text.is_empty() && text.trim().is_empty() => {
            Some(format!("has blanks alone under {key}"))
        }
        Value::String(_) => None,
        _ => Some(format!("has {value} under {key}: texts stand in quotes, numbers too")),
    };
    keys.iter().filter_map(of_key).collect()
}

/// Values that the official checker, a Python program, takes for nothing.
pub(super) fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Bool(true) => false,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
    }
}

/// True where the official checker can take a value for a whole number.
fn is_whole(value: &Value) -> bool {
    match value {
        Value::Number(_) => true,
        Value::String(text) => text.trim().parse::<u32>().is_ok(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_wrong_key_at_a_time_is_named() {
        let whole = || -> Map<String, Value> {
            let keys = SYSTEM_KEYS.iter().chain(&NETWORK_KEYS);
            let mut all: Map<String, Value> = keys.map(|key| ((*key).to_owned(), "1".into())).collect();
            for (key, text) in [
                ("division", "network"),
                ("submitter", "Acme"),
                ("status", "available"),
                ("system_type", "datacenter"),
                ("is_network", "True"),
            ] {
                all.insert(key.to_owned(), text.into());
            }
            all
        };
        assert_eq!(faults(&whole(), TreeDivision::Network, "acme"), [""; 0]);
        for (key, value, finding) in [
            ("cooling", Value::Null, "has null under cooling, which the official checker takes for nothing"),
            ("cooling", 0.into(), "has 0 under cooling, which the official checker takes for nothing"),
            ("cooling", "".into(), "says nothing under cooling"),
            ("is_network", true.into(), "has is_network true: True is wanted"),
            ("is_network", "False".into(), "has is_network \"False\": True is wanted"),
            ("number_of_nodes", "two".into(), "has number_of_nodes \"two\": a whole number is wanted"),
            ("division", "open".into(), "has division \"open\": network is wanted"),
            ("status", "soon".into(), "has status \"soon\": available or preview or rdi is wanted"),
        ] {
            let mut keys = whole();
            keys.insert(key.to_owned(), value);
            assert_eq!(faults(&keys, TreeDivision::Network, "Acme"), [finding]);
        }
        for (key, value, finding) in [
            ("number_of_nodes", 2.into(), "has 2 under number_of_nodes: texts stand in quotes, numbers too"),
            ("cooling", " ".into(), "has blanks alone under cooling"),
            ("colour", "red".into(), "has the key colour, which the official checker does not know"),
        ] {
            let mut keys = whole();
            keys.insert(key.to_owned(), value);
            assert_eq!(
                (faults(&keys, TreeDivision::Network, "Acme"), advice(&keys)),
                (Vec::new(), vec![finding.to_owned()])
            );
        }
        let mut keys = whole();
        assert_eq!(advice(&keys), [""; 0]);
        keys.remove("network_rate");
        assert_eq!(faults(&keys, TreeDivision::Network, "Acme"), ["lacks the key network_rate"]);
    }
    /// Source: the official checker's check of network mode, mlcommons/inference b66003e1.
    #[test]
    fn divisions_differ_in_what_they_say_of_the_network() {
        for (division, value, expectation) in [
            (TreeDivision::Closed, Value::Null, None),
            (TreeDivision::Closed, "False".into(), None),
            (TreeDivision::Closed, "true".into(), Some("has is_network \"true\": False is wanted")),
            (TreeDivision::Closed, false.into(), Some("has is_network false: False is wanted")),
            (TreeDivision::Network, "true".into(), None),
            (TreeDivision::Network, Value::Null, Some("has is_network null: True is wanted")),
            (TreeDivision::Open, "False".into(), None),
            (TreeDivision::Open, "True".into(), None),
            (TreeDivision::Open, true.into(), Some("has is_network true: True or False is wanted")),
        ] {
            let finding = wrong_network(&value, division);
            assert_eq!(finding.as_deref(), expectation, "{division:?} {value}");
        }
        let of = |keys: Value| faults(keys.as_object().unwrap(), TreeDivision::Closed, "Acme").join("\n");
        assert!(!of(serde_json::json!({})).contains("network_rate"));
        assert!(of(serde_json::json!({ "is_network": "False" })).contains("lacks the key network_rate"));
    }
}
