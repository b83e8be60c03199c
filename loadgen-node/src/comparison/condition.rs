//! `--fail-if`: a condition that makes a comparison fail.

use std::str::FromStr;

use lon_shell::duration::parse_duration;

use super::metric::{METRICS, Metric, Unit};
use lon_run::outputs::documents::comparison::{Comparison, Finding, MetricComparison};
use lon_run::outputs::documents::result_summary::Validity;

/// Grammar of a condition, as a user types it.
const GRAMMAR: &str = "write NAME>+PERCENT%, NAME<-PERCENT%, NAME>VALUE, NAME<VALUE or invalid";

/// A condition, which holds of none, some or all sides.
#[derive(Clone, Debug)]
pub(crate) struct Condition {
    /// As it was typed.
    text: String,
    what: What,
}

#[derive(Clone, Debug)]
enum What {
    /// A side but the first is INVALID.
    Invalid,
    Bound(Bound),
}

#[derive(Clone, Copy, Debug)]
struct Bound {
    /// The word of the quantity.
    name: &'static str,
    unit: Unit,
    is_above: bool,
    value: f64,
    /// The value is a difference from the first side, in percent.
    is_relative: bool,
}

impl FromStr for Condition {
    type Err = String;

    fn from_str(text: &str) -> Result<Condition, String> {
        let what = if text == "invalid" { What::Invalid } else { What::Bound(bound(text)?) };
        Ok(Condition { text: text.to_owned(), what })
    }
}

fn bound(text: &str) -> Result<Bound, String> {
    let at = text.find(['<', '>']).ok_or(GRAMMAR)?;
    let (name, value) = (text[..at].trim(), text[at + 1..].trim());
    let names = || METRICS.iter().map(|metric| metric.name).collect::<Vec<_>>().join(", ");
    let metric = METRICS.iter().find(|metric| metric.name == name);
    let metric: &Metric = metric.ok_or_else(|| format!("there is no '{name}'; there are {}", names()))?;
    let bound = |value, is_relative| {
        let is_above = text[at..].starts_with('>');
        Bound { name: metric.name, unit: metric.unit, is_above, value, is_relative }
    };
    if let Some(percent) = value.strip_suffix('%') {
        let percent = percent.trim().parse().ok().filter(|percent: &f64| percent.is_finite());
        return percent.map(|percent| bound(percent, true)).ok_or_else(|| GRAMMAR.to_owned());
    }
    let value = match metric.unit {
        Unit::Ns => parse_duration(value).ok().map(|duration| duration.as_nanos() as f64),
        _ => value.parse().ok().filter(|value: &f64| value.is_finite()),
    };
    let unit = if metric.unit == Unit::Ns { "a duration such as 20ms" } else { "a number" };
    value.map(|value| bound(value, false)).ok_or_else(|| format!("{name} is held against {unit}, or a percentage"))
}

impl Condition {
    /// Where it holds, in words.
    ///
    /// # Errors
    /// It cannot be judged: what it is about is not known of all sides, or they cannot be compared.
    pub(super) fn failed(&self, comparison: &Comparison) -> Result<Vec<String>, String> {
        let message = |why: String| format!("--fail-if '{}': {why}", self.text);
        match &self.what {
            What::Invalid => {
                let runs =
                    comparison.sides.iter().skip(1).flat_map(|side| side.runs.iter().map(move |run| (&side.name, run)));
                let invalid = runs.filter(|(_, run)| run.result == Validity::Invalid);
                Ok(invalid.map(|(name, run)| message(format!("{name} is INVALID ({})", run.folder))).collect())
            }
            What::Bound(bound) => Ok(bound.failed(comparison).map_err(message)?.into_iter().map(message).collect()),
        }
    }
}

impl Bound {
    fn failed(&self, comparison: &Comparison) -> Result<Vec<String>, String> {
        if let Some(why) = comparison.not_comparable.first() {
            return Err(format!("the sides cannot be compared: {why}"));
        }
        let metric = comparison.metrics.iter().find(|metric| metric.name == self.name);
        let metric = metric.ok_or_else(|| format!("no side has '{}'", self.name))?;
        let mut failed = Vec::new();
        for at in 1..comparison.sides.len() {
            let name = &comparison.sides[at].name;
            let (is_beyond, text) = match self.is_relative {
                true => self.by_difference(metric, at)?,
                false => self.by_value(metric, at)?,
            };
            failed.extend(is_beyond.then(|| format!("{name} has {text}")));
        }
        Ok(failed)
    }

    /// A difference that may be noise is not beyond anything.
    fn by_difference(&self, metric: &MetricComparison, at: usize) -> Result<(bool, String), String> {
        let difference =
            metric.differences[at - 1].ok_or_else(|| format!("'{}' is not known of all sides", self.name))?;
        let is_beyond =
            self.is_beyond(difference.percent) && !matches!(difference.finding, Finding::Noise | Finding::Same);
        Ok((is_beyond, format!("{:+.1} %", difference.percent)))
    }

    fn by_value(&self, metric: &MetricComparison, at: usize) -> Result<(bool, String), String> {
        let value = metric.values[at].ok_or_else(|| format!("'{}' is not known of all sides", self.name))?;
        Ok((self.is_beyond(value), self.unit.text(value)))
    }

    fn is_beyond(&self, value: f64) -> bool {
        if self.is_above { value > self.value } else { value < self.value }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use lon_run::outputs::documents::comparison::{Better, ComparedRun, DifferenceDocument, SideDocument};

    fn comparison(percent: f64, finding: Finding) -> Comparison {
        let run = |result| ComparedRun {
            folder: String::new(),
            result,
            benchmark: String::new(),
            scenario: String::new(),
            started_utc: String::new(),
            note: None,
            labels: BTreeMap::new(),
        };
        let side = |name: &str, result| SideDocument { name: name.to_owned(), runs: vec![run(result)] };
        let difference = DifferenceDocument { percent, interval_percent: None, interval_of: None, finding };
        let p99 = MetricComparison {
            name: "p99".to_owned(),
            about: String::new(),
            unit: "ns".to_owned(),
            better: Better::Lower,
            values: vec![Some(1e6), Some(1e6 * (1.0 + percent / 100.0))],
            differences: vec![Some(difference)],
        };
        Comparison {
            schema: 1,
            sides: vec![side("A", Validity::Invalid), side("B", Validity::of(percent >= 0.0))],
            not_comparable: Vec::new(),
            notes: Vec::new(),
            different: Vec::new(),
            metrics: vec![p99],
            failed: Vec::new(),
        }
    }

    fn holds(condition: &str, percent: f64, finding: Finding) -> bool {
        !condition.parse::<Condition>().unwrap().failed(&comparison(percent, finding)).unwrap().is_empty()
    }

    #[test]
    fn conditions_hold_beyond_their_bound_and_not_for_noise() {
        assert!(holds("p99>+5%", 6.0, Finding::Worse) && !holds("p99>+5%", 4.0, Finding::Worse));
        assert!(!holds("p99>+5%", 6.0, Finding::Noise) && holds("p99>5%", 6.0, Finding::NotJudged));
        assert!(holds("p99<-5%", -6.0, Finding::Better) && !holds("p99<-5%", 6.0, Finding::Worse));
        assert!(holds("p99>1050us", 6.0, Finding::Noise) && !holds("p99 > 2ms", 6.0, Finding::Worse));
        // The first side may be.
        assert!(holds("invalid", -1.0, Finding::Noise) && !holds("invalid", 1.0, Finding::Noise));
    }

    #[test]
    fn what_cannot_be_judged_is_an_error() {
        for (text, why) in [
            ("p99", "write NAME>"),
            ("p98>5%", "there are metric_rate, "),
            ("p99>5", "a duration such as"),
            ("rate>fast", "a number"),
            ("p99>x%", "write NAME>"),
        ] {
            let error = text.parse::<Condition>().unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
        let missing = "rate>5%".parse::<Condition>().unwrap().failed(&comparison(0.0, Finding::Noise)).unwrap_err();
        assert!(missing.contains("no side has 'rate'"), "{missing}");
        let mut apart = comparison(9.0, Finding::Worse);
        apart.not_comparable.push("benchmark is not the same".to_owned());
        let error = "p99>5%".parse::<Condition>().unwrap().failed(&apart).unwrap_err();
        assert!(error.contains("cannot be compared: benchmark"), "{error}");
    }
}
