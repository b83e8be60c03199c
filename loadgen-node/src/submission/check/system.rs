//! The description of a system, key by key.

use std::path::Path;

use lon_qsl::benchmark::Suite;
use serde_json::{Map, Value};

use super::super::system::must_have_a_text;
use super::tree::Tree;
use crate::division::Division;
use crate::test_run::stated::{NETWORK_KEYS, SYSTEM_KEYS, is_official};

/// Keys whose texts the official checker and its report take for whole numbers.
const WHOLE: [&str; 3] = ["number_of_nodes", "accelerators_per_node", "host_processors_per_node"];
const STATUS: [&str; 3] = ["available", "preview", "rdi"];
/// Values of `system_type`, with the suites whose scenarios a submission must have.
const TYPES: [(&str, &[Suite]); 4] = [
    ("datacenter", &[Suite::Datacenter]),
    ("edge", &[Suite::Edge]),
    ("datacenter,edge", &[Suite::Datacenter, Suite::Edge]),
    ("edge,datacenter", &[Suite::Datacenter, Suite::Edge]),
];

/// Looks at a description. Returns the suites that the system is submitted to; none where that is not said.
pub(super) fn check(tree: &mut Tree, path: &Path, division: Division, submitter: &str) -> &'static [Suite] {
    let Some(text) = tree.text(path) else { return &[] };
    let keys: Map<String, Value> = match serde_json::from_str(&text) {
        Ok(keys) => keys,
        Err(error) => {
            tree.found(path, format!("is no JSON object: {error}"));
            return &[];
        }
    };
    for what in faults(&keys, division, submitter) {
        tree.found(path, what);
    }
    for what in advice(&keys) {
        tree.advise(path, what);
    }
    let of_type = TYPES.into_iter().find(|(name, _)| keys.get("system_type").and_then(Value::as_str) == Some(name));
    of_type.map_or(&[], |(_, suites)| suites)
}

fn faults(keys: &Map<String, Value>, division: Division, submitter: &str) -> Vec<String> {
    let mut faults = Vec::new();
    let is_networked = division == Division::Network || keys.contains_key("is_network");
    let wanted = SYSTEM_KEYS.iter().chain(NETWORK_KEYS.iter().filter(|_| is_networked));
    for key in wanted.copied() {
        match keys.get(key) {
            None => faults.push(format!("lacks the key {key}")),
            Some(value) if !is_empty(value) || !must_have_a_text(key) => {}
            Some(Value::String(_)) => faults.push(format!("says nothing under {key}")),
            Some(value) => {
                faults.push(format!("has {value} under {key}, which the official checker takes for nothing"));
            }
        }
    }
    let one_of = |key: &str, known: &[&str]| {
        let found = keys.get(key)?;
        let is_known = known.iter().any(|one| found.as_str().is_some_and(|found| one.eq_ignore_ascii_case(found)));
        (!is_known).then(|| format!("has {key} {found}: {} is wanted", known.join(" or ")))
    };
    faults.extend(one_of("division", &[division.name()]));
    faults.extend(one_of("submitter", &[submitter]));
    faults.extend(one_of("status", &STATUS));
    faults.extend(one_of("system_type", &TYPES.map(|(name, _)| name)));
    if is_networked {
        faults.extend(one_of("is_network", &["True"]));
    }
    for key in WHOLE {
        let odd = keys.get(key).filter(|found| !is_empty(found) && !is_whole(found));
        faults.extend(odd.map(|found| format!("has {key} {found}: a whole number is wanted")));
    }
    faults
}

/// What the official checker takes, though it is not what its texts show.
fn advice(keys: &Map<String, Value>) -> Vec<String> {
    let of_key = |(key, value): (&String, &Value)| match value {
        _ if !is_official(key) => Some(format!("has the key {key}, which the official checker does not know")),
        Value::String(_) => None,
        _ => Some(format!("has {value} under {key}: texts stand in quotes, numbers too")),
    };
    keys.iter().filter_map(of_key).collect()
}

/// What the official checker, a Python program, takes for nothing.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Bool(true) => false,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.trim().is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
    }
}

/// Whether the official checker can take a value for a whole number.
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
        assert_eq!(faults(&whole(), Division::Network, "acme"), [""; 0]);
        for (key, value, said) in [
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
            assert_eq!(faults(&keys, Division::Network, "Acme"), [said]);
        }
        for (key, value, said) in [
            ("number_of_nodes", 2.into(), "has 2 under number_of_nodes: texts stand in quotes, numbers too"),
            ("colour", "red".into(), "has the key colour, which the official checker does not know"),
        ] {
            let mut keys = whole();
            keys.insert(key.to_owned(), value);
            assert_eq!((faults(&keys, Division::Network, "Acme"), advice(&keys)), (Vec::new(), vec![said.to_owned()]));
        }
        let mut keys = whole();
        assert_eq!(advice(&keys), [""; 0]);
        keys.remove("network_rate");
        assert_eq!(faults(&keys, Division::Network, "Acme"), ["lacks the key network_rate"]);
    }
}
