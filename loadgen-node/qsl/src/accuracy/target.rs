//! A metric and its bounds, and a score that is held against them.

use super::categories::Categories;
use super::error::ScoreError;
use super::metric::Metric;
use super::round;
use super::truth::{Truth, Truths};

/// A metric, and between which bounds the score must be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Target {
    /// The metric by which answers are scored.
    pub metric: Metric,
    /// The lowest score that passes, in the metric's unit; none: any does.
    pub at_least: Option<f64>,
    /// The highest score that passes, in the metric's unit; none: any does.
    pub at_most: Option<f64>,
    /// The number of classes that a model tells apart, when it is known.
    pub classes: Option<usize>,
    /// The numbers by which boxes name their categories.
    pub categories: Categories,
    /// The parts of the dataset whose samples are scored; empty: all samples are.
    pub parts: &'static [&'static str],
}

/// A metric over all samples, without bounds.
impl From<Metric> for Target {
    fn from(metric: Metric) -> Target {
        Target { metric, at_least: None, at_most: None, classes: None, categories: Categories::Ids, parts: &[] }
    }
}

/// A score, and the number of samples behind it.
#[derive(Clone, Debug, PartialEq)]
pub struct Score {
    /// The score in the metric's unit.
    pub value: f64,
    /// The number of distinct samples that were answered, those of parts that are not scored included.
    pub samples: usize,
    /// The number of questions that they answer; none when each sample is a question of its own.
    pub questions: Option<usize>,
    /// The scores in the other metrics that the benchmark asks for.
    pub others: Vec<Other>,
}

/// A score in a metric that is asked for beside the first one.
#[derive(Clone, Debug, PartialEq)]
pub struct Other {
    /// The metric and its bounds.
    pub target: Target,
    /// The score in the metric's unit, or why there is none.
    pub value: Result<f64, ScoreError>,
    /// The name that the official submission checker has for this score; none: it is not computed as the official
    /// scripts do.
    pub official: Option<&'static str>,
}

impl Other {
    /// Tells whether there is a score, and it is between the bounds.
    pub fn is_reached(&self) -> bool {
        self.value.as_ref().is_ok_and(|value| self.target.is_between(*value))
    }
}

impl Score {
    /// Returns the other scores that are there and not between their bounds.
    pub fn missed(&self) -> impl Iterator<Item = (&Target, f64)> {
        let missed = |other: &&Other| other.value.is_ok() && !other.is_reached();
        self.others.iter().filter(missed).filter_map(|other| Some((&other.target, *other.value.as_ref().ok()?)))
    }
}

impl Target {
    /// Tells whether a score is between the bounds, and the others that are there between theirs.
    pub fn is_reached_by(&self, score: &Score) -> bool {
        self.is_between(score.value) && score.missed().next().is_none()
    }

    /// Returns the parts that are scored, for people: ` (part GSM8K)`; empty where all samples are.
    pub fn of_parts(&self) -> String {
        match self.parts {
            [] => String::new(),
            parts => format!(" (part {})", parts.join(", ")),
        }
    }

    /// Tells whether a number is between the bounds. All are rounded to five significant digits (half to even), by the
    /// rules.
    pub fn is_between(&self, value: f64) -> bool {
        let value = round::to_five_digits(value);
        self.at_least.is_none_or(|least| value >= round::to_five_digits(least))
            && self.at_most.is_none_or(|most| value <= round::to_five_digits(most))
    }

    /// Returns the bounds with their unit: `97 %`, `at most 5 %`, `23.011 to 23.95`.
    pub fn bounds(&self) -> String {
        let unit = self.metric.behind();
        match (self.at_least, self.at_most) {
            (Some(least), Some(most)) => format!("{least} to {most}{unit}"),
            (Some(least), None) => format!("{least}{unit}"),
            (None, Some(most)) => format!("at most {most}{unit}"),
            (None, None) => "any".to_owned(),
        }
    }

    /// Returns the index of the first sample without a right answer that the metric can use; none when all have one.
    /// Where parts are scored, every sample has to name its own.
    pub fn first_lacking(&self, truths: &Truths) -> Option<usize> {
        let (Truths::Samples(samples) | Truths::Decoded(samples, _)) = truths else {
            return (self.metric.takes_all(truths) == Some(false)).then_some(0);
        };
        let is_known = |truth: &Truth| match self.parts {
            [] => self.metric.takes(truth),
            parts => truth.part().is_some_and(|part| !parts.contains(&part) || self.metric.takes(truth)),
        };
        let lacking = samples.iter().position(|truth| !truth.as_ref().is_some_and(is_known));
        lacking.filter(|_| self.metric.needs_truths() || !self.parts.is_empty())
    }

    /// Tells whether a sample is scored.
    pub(super) fn scores(&self, truth: Option<&Truth>) -> bool {
        let is_of = |part: &str| self.parts.contains(&part);
        self.parts.is_empty() || truth.and_then(Truth::part).is_some_and(is_of)
    }
}
