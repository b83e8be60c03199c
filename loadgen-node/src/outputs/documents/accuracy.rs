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
    /// Unit of `value`, `target` and `at_most`: `%`, or `1` for a number from 0 to 1.
    pub unit: String,
    /// What must be reached. Absent where only `at_most` counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<f64>,
    /// What must not be exceeded. Absent where only `target` counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_most: Option<f64>,
    /// Whether the value is between the two.
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
            target: target.at_least,
            at_most: target.at_most,
            passed: target.is_reached_by(score),
            samples: score.samples,
            questions: score.questions,
        }
    }
}

/// The score for people.
pub(crate) fn line(score: Score, target: Target) -> String {
    let (name, unit, wanted) = (target.metric.name(), target.metric.behind(), target.wanted());
    let verdict = if target.is_reached_by(score) { "passed" } else { "missed" };
    let (value, samples) = (to_five_digits(score.value), score.samples);
    let of = score.questions.map_or_else(String::new, |questions| format!(" of {questions} questions"));
    format!("{name} {value}{unit} on {samples} samples{of} (target {wanted}: {verdict})")
}
