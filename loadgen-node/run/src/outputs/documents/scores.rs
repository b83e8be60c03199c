//! Document that `accuracy --scorer --json` prints: the scores that a command of the user's gave, and the bounds that
//! they have.

use std::collections::BTreeMap;

use lon_qsl::accuracy::to_five_digits;
use lon_qsl::benchmark::Bound;
use serde::{Deserialize, Serialize};

use super::accuracy::{number, yes};
use crate::outputs::tables::table::Table;

/// The scores of an accuracy log by a command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ScoresDocument {
    /// The command, as it was given.
    pub scorer: String,
    /// The round whose bounds are compared.
    pub round: String,
    /// The scores by name of their metric.
    pub scores: Vec<ScoreDocument>,
    /// Metrics that have bounds, and of which the command gave no score.
    pub missing: Vec<String>,
    /// True when no score is missing and all are between their bounds. Absent where there are no bounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passed: Option<bool>,
}

/// One score and its bounds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ScoreDocument {
    /// The metric's name, as the command gave it.
    pub metric: String,
    /// The score that was printed.
    pub value: f64,
    /// Lowest value that passes. Absent where there is no lower bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_least: Option<f64>,
    /// Highest value that passes. Absent where there is no upper bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_most: Option<f64>,
    /// True when the value is between `at_least` and `at_most`. Absent where there is neither.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passed: Option<bool>,
}

impl ScoresDocument {
    /// Holds scores against bounds. By the rules, scores are rounded to five digits; bounds are taken as they are.
    pub fn new(scorer: &str, round: &str, scores: BTreeMap<String, f64>, bounds: &[Bound]) -> ScoresDocument {
        let has_score = |bound: &&Bound| scores.contains_key(&bound.metric);
        let missing: Vec<String> =
            bounds.iter().filter(|bound| !has_score(bound)).map(|bound| bound.metric.clone()).collect();
        let judged = |(metric, value): (String, f64)| {
            let bound = bounds.iter().find(|bound| bound.metric == metric);
            let (at_least, at_most) = bound.map_or((None, None), |bound| (bound.at_least, bound.at_most));
            let rounded = to_five_digits(value);
            let is_between =
                at_least.is_none_or(|least| rounded >= least) && at_most.is_none_or(|most| rounded <= most);
            let passed = bound.map(|_| is_between);
            ScoreDocument { metric, value, at_least, at_most, passed }
        };
        let scores: Vec<ScoreDocument> = scores.into_iter().map(judged).collect();
        let is_kept = missing.is_empty() && scores.iter().all(|score| score.passed != Some(false));
        let passed = (!bounds.is_empty()).then_some(is_kept);
        ScoresDocument { scorer: scorer.to_owned(), round: round.to_owned(), scores, missing, passed }
    }

    /// The scores as rows. A metric with bounds of which no score was given has a row without a value.
    pub fn table(&self) -> Table {
        let mut table = Table::new(["metric", "value", "at least", "at most", "passed"]);
        self.scores.iter().for_each(|score| {
            let value = to_five_digits(score.value).to_string();
            let (least, most) = (number(score.at_least), number(score.at_most));
            table.row([&score.metric, &value, &least, &most, score.passed.map_or("", yes)]);
        });
        self.missing.iter().for_each(|metric| table.row([metric, "", "", "", "no"]));
        table
    }

    /// The scores for people, one on each line.
    pub fn text(&self) -> String {
        let missing = self.missing.iter().map(|metric| format!("{metric}: no score was given"));
        self.scores.iter().map(ScoreDocument::line).chain(missing).collect::<Vec<_>>().join("\n")
    }
}

impl ScoreDocument {
    fn line(&self) -> String {
        let (metric, value) = (&self.metric, to_five_digits(self.value));
        let verdict = if self.passed == Some(true) { "passed" } else { "missed" };
        match (self.at_least, self.at_most) {
            (None, None) => format!("{metric} {value} (no target)"),
            (Some(least), None) => format!("{metric} {value} (target {least}: {verdict})"),
            (None, Some(most)) => format!("{metric} {value} (target at most {most}: {verdict})"),
            (Some(least), Some(most)) => format!("{metric} {value} (target {least} to {most}: {verdict})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::reads_back;
    use super::*;

    #[test]
    fn both_bounds_count() {
        let bounds = [
            Bound { metric: "FID_SCORE".to_owned(), at_least: Some(23.01085758), at_most: Some(23.95007626) },
            Bound { metric: "CLIP_SCORE".to_owned(), at_least: Some(31.68631873), at_most: None },
        ];
        let of = |scores: &[(&str, f64)]| {
            let scores = scores.iter().map(|(metric, value)| ((*metric).to_owned(), *value)).collect();
            ScoresDocument::new("mine", "v5.0", scores, &bounds)
        };
        assert_eq!(of(&[("FID_SCORE", 23.5), ("CLIP_SCORE", 31.7)]).passed, Some(true));
        assert_eq!(of(&[("FID_SCORE", 23.96), ("CLIP_SCORE", 31.7)]).passed, Some(false));
        assert_eq!(of(&[("FID_SCORE", 23.0), ("CLIP_SCORE", 31.7)]).passed, Some(false));
        let part = of(&[("FID_SCORE", 23.5), ("other", 7.0)]);
        assert_eq!((part.passed, part.missing.as_slice()), (Some(false), &["CLIP_SCORE".to_owned()][..]));
        assert_eq!((part.scores[1].passed, ScoresDocument::new("mine", "v5.0", [].into(), &[]).passed), (None, None));
        let lines = "FID_SCORE 23.5 (target 23.01085758 to 23.95007626: passed)\nother 7 (no target)\n\
                     CLIP_SCORE: no score was given";
        assert_eq!(part.text(), lines);
        let rows = "metric,value,at least,at most,passed\nFID_SCORE,23.5,23.01085758,23.95007626,yes\nother,7,,,\n\
                    CLIP_SCORE,,,,no\n";
        assert_eq!(part.table().csv(), rows);
        assert_eq!(reads_back(&part)["scores"][1]["metric"], "other");
    }
}
