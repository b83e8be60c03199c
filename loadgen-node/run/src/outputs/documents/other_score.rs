//! A score beside the first one, where a benchmark asks for several.

use lon_qsl::accuracy::{Other, Score, to_five_digits};
use serde::{Deserialize, Serialize};

/// A score in another metric than the first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct OtherScore {
    /// The metric's name.
    pub metric: String,
    /// The name that the official submission checker has for this score. Absent where it is not computed as the
    /// official scripts do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub official: Option<String>,
    /// The score, in `unit`. Absent where there is none: `why` says why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// Unit of `value`, `target` and `at_most`.
    pub unit: String,
    /// Lowest value that passes. Absent where there is no lower bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<f64>,
    /// Highest value that passes. Absent where there is no upper bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_most: Option<f64>,
    /// True when there is a value, and it is between `target` and `at_most`.
    pub passed: bool,
    /// Why there is no value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

impl OtherScore {
    /// The other scores of a run.
    pub fn all(score: &Score) -> Vec<OtherScore> {
        score.others.iter().map(OtherScore::from).collect()
    }

    /// The score as the official scripts print it, by the checker's name for it. None: there is none, or it is not
    /// computed as there.
    pub(crate) fn printed(&self) -> Option<(&str, f64)> {
        Some((self.official.as_deref()?, self.value?))
    }
}

impl From<&Other> for OtherScore {
    fn from(other: &Other) -> OtherScore {
        let target = &other.target;
        OtherScore {
            metric: target.metric.name().to_owned(),
            official: other.official.map(str::to_owned),
            value: other.value.as_ref().ok().copied(),
            unit: target.metric.unit().to_owned(),
            target: target.at_least,
            at_most: target.at_most,
            passed: other.is_reached(),
            why: other.value.as_ref().err().map(ToString::to_string),
        }
    }
}

/// Word for the target of a metric without bounds.
const ANY: &str = "any";

/// An other score for people.
pub(super) fn line(other: &Other) -> String {
    let (name, unit, bounds) = (other.target.metric.name(), other.target.metric.behind(), other.target.bounds());
    let (verdict, parts) = (if other.is_reached() { "passed" } else { "missed" }, other.target.of_parts());
    match &other.value {
        Ok(value) if bounds == ANY => format!("{name} {}{unit}{parts}", to_five_digits(*value)),
        Ok(value) => format!("{name} {}{unit}{parts} (target {bounds}: {verdict})", to_five_digits(*value)),
        Err(why) => format!("{name}{parts} not scored (target {bounds}): {why}"),
    }
}
