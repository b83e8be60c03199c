//! What the command `conf` prints, as JSON and for people. Pure: everything was decided before.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use crate::test_run::setup::Wanted;
use loadgen::judge::early_stopping::{QueryCount, USUAL, percent};
use loadgen::plan::predict::Prediction;
use loadgen::plan::{Effective, Plan, PlanError};
use loadgen::settings::{Mode, Qsl};

/// Everything there is to show.
pub(crate) struct View {
    pub(crate) benchmark: String,
    /// What a sample has for the model, where that is known.
    pub(crate) inputs: Option<String>,
    /// Whether a text may stand for the first of them.
    pub(crate) takes_texts: bool,
    pub(crate) wanted: Wanted,
    pub(crate) qsl: Qsl,
    /// Whether samples are known; else what is predicted in bytes leaves them out.
    pub(crate) has_samples: bool,
    pub(crate) plan: Result<Plan, PlanError>,
    pub(crate) prediction: Option<Prediction>,
    pub(crate) warnings: Vec<String>,
}

/// The skeleton of `conf --json` and more.
pub(crate) fn json(view: &View) -> Value {
    let entries: Map<String, Value> = entries(view)
        .into_iter()
        .map(|(name, value, origin)| (name, json!({ "value": value, "origin": origin })))
        .collect();
    json!({
        "schema": 1,
        "benchmark": view.benchmark,
        "inputs": view.inputs,
        "takes_texts": view.takes_texts,
        "scenario": view.wanted.sourced.settings().scenario.name(),
        "mode": mode(view).name(),
        "rules": view.wanted.rules.round.name,
        "qsl": view.qsl,
        "samples_known": view.has_samples,
        "settings": entries,
        "effective": effective(view).map_or(Value::Null, |fields| Value::Object(fields.into_iter().collect())),
        "predicted": predicted(view.prediction.as_ref()),
        "query_counts": counts(view).iter().map(|count| count_json(view, count)).collect::<Vec<_>>(),
        "warnings": view.warnings,
    })
}

/// For people: one table after the other.
pub(crate) fn text(view: &View) -> String {
    let mut text = format!(
        "{} {} {}, rules of round {}, library of {} samples\n",
        view.benchmark,
        view.wanted.sourced.settings().scenario.name(),
        mode(view).name(),
        view.wanted.rules.round.name,
        view.qsl.total
    );
    if let Some(inputs) = &view.inputs {
        let texts = if view.takes_texts { "; or a text, u8[?], for the first" } else { "" };
        let _ = writeln!(text, "a sample has {inputs} (without N){texts}");
    }
    heading(&mut text, "Settings, as requested");
    for (name, value, origin) in entries(view) {
        let _ = writeln!(text, "  {name:<42} {:<22} {origin}", plain(&value));
    }
    if let Some(effective) = effective(view) {
        heading(&mut text, "In force");
        for (name, value) in effective {
            let _ = writeln!(text, "  {name:<42} {}", plain(&value));
        }
    }
    if let Some(prediction) = &view.prediction {
        heading(&mut text, "A run takes about");
        for (name, value) in prediction_lines(prediction, view.has_samples) {
            let _ = writeln!(text, "  {name:<42} {value}");
        }
    }
    heading(&mut text, "Queries needed");
    let _ = writeln!(
        text,
        "  {:<12} {:<12} {:<26} {:<12}",
        "percentile", "counted", "rounded up to n * 2^13", "early stopping"
    );
    for count in counts(view) {
        let percent = percent(count.percentile);
        let QueryCount { queries, rounded, .. } = count;
        let _ = writeln!(text, "  {percent:<12} {queries:<12} {rounded:<26} {:<12}", least(view, count.percentile));
    }
    if !view.warnings.is_empty() {
        heading(&mut text, "Warnings");
        for warning in &view.warnings {
            let _ = writeln!(text, "  - {warning}");
        }
    }
    text
}

/// The mode in force: compliance tests change it.
fn mode(view: &View) -> Mode {
    view.plan.as_ref().map_or(view.wanted.sourced.settings().mode, |plan| plan.effective().mode)
}

fn heading(text: &mut String, title: &str) {
    let _ = writeln!(text, "\n{title}");
}

/// Field, value, origin, in the order of the official structure.
fn entries(view: &View) -> Vec<(String, Value, String)> {
    let sourced = &view.wanted.sourced;
    let Ok(Value::Object(fields)) = serde_json::to_value(sourced.settings()) else {
        return Vec::new();
    };
    fields.into_iter().map(|(name, value)| (name.clone(), value, sourced.origin(&name).to_string())).collect()
}

/// What the settings come to in the scenario, where it is not what was requested.
fn effective(view: &View) -> Option<Vec<(String, Value)>> {
    let Effective {
        samples_per_query,
        target_qps,
        target_latency_ns,
        target_latency_percentile,
        max_async_queries,
        target_duration_ms,
        min_query_count,
        min_sample_count,
        performance_sample_count,
        accuracy_sample_count,
        ..
    } = view.plan.as_ref().ok()?.effective();
    let fields = [
        ("samples_per_query", json!(samples_per_query)),
        ("target_qps", json!(target_qps)),
        ("target_latency_ns", json!(target_latency_ns)),
        ("target_latency_percentile", json!(target_latency_percentile)),
        ("max_async_queries", json!(max_async_queries)),
        ("target_duration_ms", json!(target_duration_ms)),
        ("min_query_count", json!(min_query_count)),
        ("min_sample_count", json!(min_sample_count)),
        ("performance_sample_count", json!(performance_sample_count)),
        ("accuracy_sample_count", json!(accuracy_sample_count)),
    ];
    Some(fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

/// The same keys whether or not there is a run to predict.
fn predicted(prediction: Option<&Prediction>) -> Value {
    json!({
        "queries": prediction.map(|p| p.queries),
        "samples": prediction.map(|p| p.samples),
        "duration_s": prediction.map(|p| p.duration_s),
        "memory_bytes": prediction.map(|p| p.memory_bytes),
        "wire_bytes": prediction.map(|p| p.wire_bytes),
        "log_bytes": prediction.map(|p| p.log_bytes),
        "logged_answers": prediction.map(|p| p.logged),
    })
}

fn prediction_lines(prediction: &Prediction, has_samples: bool) -> [(&'static str, String); 6] {
    let known = |bytes: u64| format!("{bytes} bytes{}", if has_samples { "" } else { ", without those of samples" });
    [
        ("queries", prediction.queries.to_string()),
        ("samples", prediction.samples.to_string()),
        ("duration", format!("{:.1} s", prediction.duration_s)),
        ("memory", known(prediction.memory_bytes)),
        ("bytes of messages to the SUT", known(prediction.wire_bytes)),
        (
            "log files",
            format!("{} bytes, and two for each byte of {} answers", prediction.log_bytes, prediction.logged),
        ),
    ]
}

/// The usual percentiles, and that of these settings.
fn counts(view: &View) -> Vec<QueryCount> {
    let own = view.plan.as_ref().ok().map(|plan| plan.effective().target_latency_percentile);
    let mut percentiles = USUAL.to_vec();
    // Percent times 0.01 is not always the nearest fraction.
    percentiles.extend(own.filter(|own| USUAL.iter().all(|usual| (usual - own).abs() > 1e-9)));
    percentiles.sort_by(f64::total_cmp);
    percentiles.into_iter().map(QueryCount::of).collect()
}

fn count_json(view: &View, count: &QueryCount) -> Value {
    json!({
        "percentile": count.percentile,
        "margin": count.margin,
        "confidence": count.confidence,
        "queries": count.queries,
        "rounded": count.rounded,
        "early_stopping_minimum": least(view, count.percentile),
    })
}

/// Fewest queries with which the scenario's early-stopping rule can be met.
fn least(view: &View, percentile: f64) -> u64 {
    view.wanted.sourced.settings().scenario.judge().early_stopping().least_queries(percentile)
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
