//! A score: the skeleton of `accuracy --json`, and the same in a line.

use lon_qsl::accuracy::Score;
use lon_qsl::benchmark::Target;
use serde_json::{Value, json};

/// The score for people.
pub(crate) fn line(score: Score, target: Target) -> String {
    let (name, unit) = (target.metric.name(), target.metric.unit());
    let verdict = if target.is_reached_by(score) { "passed" } else { "missed" };
    let (value, samples, wanted) = (score.value, score.samples, target.value);
    let of = score.questions.map_or_else(String::new, |questions| format!(" of {questions} questions"));
    format!("{name} {value:.3} {unit} on {samples} samples{of} (target {wanted} {unit}: {verdict})")
}

/// The score for programs.
pub(crate) fn json(score: Score, target: Target) -> Value {
    let mut shown = json!({
        "metric": target.metric.name(),
        "name": target.metric.name(),
        "value": score.value,
        "unit": target.metric.unit(),
        "target": target.value,
        "passed": target.is_reached_by(score),
        "samples": score.samples,
    });
    if let (Some(questions), Some(shown)) = (score.questions, shown.as_object_mut()) {
        shown.insert("questions".to_owned(), questions.into());
    }
    shown
}
