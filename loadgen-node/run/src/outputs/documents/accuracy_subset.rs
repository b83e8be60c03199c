//! Document that `accuracy --json` prints of a performance run that logged some of its answers, as compliance test 01
//! does. Such a score is compared with no target, because the target is for all samples of the dataset.

use lon_qsl::accuracy::{Metric, Score, to_five_digits};
use serde::{Deserialize, Serialize};

use super::accuracy::number;
use super::other_score::OtherScore;
use crate::outputs::tables::table::Table;

/// The score of the samples that a performance run has logged. It has no verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct AccuracySubset {
    /// The metric's name.
    pub metric: String,
    /// The score of these samples, in `unit`.
    pub value: f64,
    /// Unit of `value`.
    pub unit: String,
    /// Distinct samples that were scored.
    pub samples: usize,
    /// Samples of the whole dataset.
    pub of_samples: usize,
    /// The scores in the other metrics that the benchmark asks for. Absent where there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<OtherScore>,
}

impl AccuracySubset {
    /// The document of a score of some samples of a dataset.
    pub fn new(score: &Score, metric: Metric, of_samples: usize) -> AccuracySubset {
        let (metric, unit) = (metric.name().to_owned(), metric.unit().to_owned());
        AccuracySubset {
            metric,
            value: score.value,
            unit,
            samples: score.samples,
            of_samples,
            others: OtherScore::all(score),
        }
    }

    /// The scores as rows: the first metric, then the others.
    pub fn table(&self) -> Table {
        let mut table = Table::new(["metric", "value", "unit", "samples", "of samples", "why"]);
        let [samples, of_samples] = [self.samples, self.of_samples].map(|count| count.to_string());
        let value = to_five_digits(self.value).to_string();
        table.row([&self.metric, &value, &self.unit, &samples, &of_samples, ""]);
        self.others.iter().for_each(|other| {
            let value = number(other.value.map(to_five_digits));
            let why = other.why.as_deref().unwrap_or_default();
            table.row([&other.metric, &value, &other.unit, &samples, &of_samples, why]);
        });
        table
    }

    /// The score for people.
    pub fn line(&self) -> String {
        let AccuracySubset { metric, value, unit, samples, of_samples, .. } = self;
        let value = to_five_digits(*value);
        format!(
            "{metric} {value} {unit} on {samples} of {of_samples} samples, those that a performance run has logged: no \
             verdict, since the target is for all of them"
        )
    }
}
