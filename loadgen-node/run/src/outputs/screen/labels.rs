//! Text for the labels of a run.

use std::collections::BTreeMap;

/// Labels on one line, as they are typed: `rack=7,team=a`.
pub fn labels_text(labels: &BTreeMap<String, String>) -> String {
    labels.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(",")
}
