//! The number that counts: part of `result_summary.json`.

use serde::{Deserialize, Serialize};

use super::accuracy::AccuracyDocument;
use loadgen::judge::Summary;

/// The number that counts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum MetricDocument {
    /// Of an accuracy run: its score.
    Accuracy(AccuracyDocument),
    /// Of a performance run.
    Performance(PerformanceMetric),
}

/// The metric of a performance run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PerformanceMetric {
    /// Its key in the official detail log, in performance runs; accuracy runs have the metric of accuracy.
    pub name: String,
    /// The number, in `unit`; null when too little was answered, or the latency that it is was never measured.
    pub value: Option<f64>,
    /// `ns` or `samples/s`.
    pub unit: String,
}

impl MetricDocument {
    /// Of a judged performance phase.
    pub(super) fn of(summary: &Summary) -> MetricDocument {
        let metric = summary.metric;
        MetricDocument::Performance(PerformanceMetric {
            name: metric.name.to_owned(),
            value: metric.value,
            unit: metric.unit.to_owned(),
        })
    }
}
