//! Document that `accuracy --json` prints: the score of a run folder. `result_summary.json` has it, too; for people it
//! is a line. As a table it has a row for each metric.

use lon_qsl::accuracy::{Other, Score, to_five_digits};
use lon_qsl::benchmark::Target;
use serde::{Deserialize, Serialize};

use super::other_score::{self, OtherScore};
use crate::outputs::tables::table::Table;

/// A score and the benchmark's target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AccuracyDocument {
    /// The metric's name.
    pub metric: String,
    /// The metric of accuracy again, such as `top1`, so that `metric.name` names it in accuracy runs.
    pub name: String,
    /// The score, in `unit`.
    pub value: f64,
    /// Unit of `value`, `target` and `at_most`: `%`, `1` for a number from 0 to 1, `characters` or `tokens`.
    pub unit: String,
    /// Lowest value that passes. Absent where only `at_most` counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<f64>,
    /// Highest value that passes. Absent where only `target` counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_most: Option<f64>,
    /// True when the value is between `target` and `at_most`, and the other scores are there and between their bounds.
    pub passed: bool,
    /// Distinct samples that were scored.
    pub samples: usize,
    /// Questions that the samples are of. Absent where each sample is a question of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub questions: Option<usize>,
    /// The scores in the other metrics that the benchmark asks for. Absent where there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<OtherScore>,
}

impl AccuracyDocument {
    /// The document of a score.
    pub fn new(score: &Score, target: Target) -> AccuracyDocument {
        AccuracyDocument {
            metric: target.metric.name().to_owned(),
            name: target.metric.name().to_owned(),
            value: score.value,
            unit: target.metric.unit().to_owned(),
            target: target.at_least,
            at_most: target.at_most,
            passed: has_passed(score, target),
            samples: score.samples,
            questions: score.questions,
            others: OtherScore::all(score),
        }
    }
}

impl AccuracyDocument {
    /// The scores as rows: the first metric, then the others.
    pub fn table(&self) -> Table {
        let mut table = Table::new(["metric", "value", "unit", "at least", "at most", "passed", "samples", "why"]);
        let samples = self.samples.to_string();
        let (value, passed) = (to_five_digits(self.value).to_string(), yes(self.passed));
        table.row([
            &self.metric,
            &value,
            &self.unit,
            &number(self.target),
            &number(self.at_most),
            passed,
            &samples,
            "",
        ]);
        self.others.iter().for_each(|other| {
            let value = number(other.value.map(to_five_digits));
            let (least, most, passed) = (number(other.target), number(other.at_most), yes(other.passed));
            let why = other.why.as_deref().unwrap_or_default();
            table.row([&other.metric, &value, &other.unit, &least, &most, passed, &samples, why]);
        });
        table
    }

    /// The other scores that are computed as the official scripts do, by the checker's names for them.
    pub(crate) fn official_others(&self) -> impl Iterator<Item = (String, f64)> {
        self.others.iter().filter_map(OtherScore::printed).map(|(name, value)| (name.to_owned(), value))
    }
}

/// A number in a cell; empty where there is none.
pub(super) fn number(number: Option<f64>) -> String {
    number.map_or_else(String::new, |number| number.to_string())
}

/// Returns `yes` or `no` for a cell.
pub(super) fn yes(holds: bool) -> &'static str {
    if holds { "yes" } else { "no" }
}

/// Returns true when all scores are there and between their bounds.
pub fn has_passed(score: &Score, target: Target) -> bool {
    target.is_reached_by(score) && score.others.iter().all(Other::is_reached)
}

/// All scores for people, a line each.
pub fn lines(score: &Score, target: Target) -> Vec<String> {
    std::iter::once(line(score, target)).chain(score.others.iter().map(other_score::line)).collect()
}

fn line(score: &Score, target: Target) -> String {
    let (name, unit, bounds) = (target.metric.name(), target.metric.behind(), target.bounds());
    let verdict = if target.is_between(score.value) { "passed" } else { "missed" };
    let (value, samples) = (to_five_digits(score.value), score.samples);
    let of = score.questions.map_or_else(String::new, |questions| format!(" of {questions} questions"));
    let parts = target.of_parts();
    format!("{name} {value}{unit}{parts} on {samples} samples{of} (target {bounds}: {verdict})")
}
