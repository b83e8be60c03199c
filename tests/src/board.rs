//! The board of Grafana in `deploy/metrics`: what it asks Prometheus for.

use serde_json::Value;

use crate::process::repository;

/// Returns the questions that the board in `deploy/metrics` asks.
pub fn questions() -> Vec<String> {
    questions_and_legends().into_iter().map(|(question, _)| question).collect()
}

/// The same, each with how its curves are named; empty where they have no names.
pub fn questions_and_legends() -> Vec<(String, String)> {
    fn collect(value: &Value, pairs: &mut Vec<(String, String)>) {
        match value {
            Value::Object(map) => {
                let query = map.get("expr").or_else(|| map.get("query").and_then(|query| query.get("query")));
                let legend = map.get("legendFormat").and_then(Value::as_str).unwrap_or_default();
                pairs.extend(query.and_then(Value::as_str).map(|query| (query.to_owned(), legend.to_owned())));
                map.values().for_each(|value| collect(value, pairs));
            }
            Value::Array(list) => list.iter().for_each(|value| collect(value, pairs)),
            _ => {}
        }
    }
    let text = std::fs::read_to_string(repository("deploy/metrics/dashboard.json")).unwrap();
    let mut pairs = Vec::new();
    collect(&serde_json::from_str(&text).unwrap(), &mut pairs);
    assert!(pairs.len() > 10, "{pairs:?}");
    pairs
}
