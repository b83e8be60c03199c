//! What `accuracy --json` prints: the score of a run folder. `result_summary.json` has it, too; for people it is a
//! line.

use lon_qsl::accuracy::{Score, to_five_digits};
use lon_qsl::benchmark::Target;
use serde::{Deserialize, Serialize};

/// A score and the benchmark's target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AccuracyDocument {
    /// The metric's name.
    pub metric: String,
    /// The metric's name again, as metrics of performance have it.
    pub name: String,
    /// The score, in `unit`.
    pub value: f64,
    /// Unit of `value` and `target`.
    pub unit: String,
    /// What must be reached.
    pub target: f64,
    /// Whether it was reached.
    pub passed: bool,
    /// Distinct samples that were scored.
    pub samples: usize,
    /// Questions that the samples are of. Absent where each sample is a question of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub questions: Option<usize>,
}

impl AccuracyDocument {
    /// The document of a score.
    pub(crate) fn new(score: Score, target: Target) -> AccuracyDocument {
        AccuracyDocument {
            metric: target.metric.name().to_owned(),
            name: target.metric.name().to_owned(),
            value: score.value,
            unit: target.metric.unit().to_owned(),
            target: target.value,
            passed: target.is_reached_by(score),
            samples: score.samples,
            questions: score.questions,
        }
    }
}

/// The score for people.
pub(crate) fn line(score: Score, target: Target) -> String {
    let (name, unit) = (target.metric.name(), target.metric.unit());
    let verdict = if target.is_reached_by(score) { "passed" } else { "missed" };
    let (value, samples, wanted) = (score.value, score.samples, target.value);
    let of = score.questions.map_or_else(String::new, |questions| format!(" of {questions} questions"));
    let value = to_five_digits(value);
    format!("{name} {value} {unit} on {samples} samples{of} (target {wanted} {unit}: {verdict})")
}
