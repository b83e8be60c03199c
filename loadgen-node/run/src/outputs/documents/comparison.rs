//! Document that `compare --json` prints: two or more runs side by side.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::result_summary::Validity;

/// The version of [`Comparison`].
pub const SCHEMA: u32 = 1;

/// The whole document. Lists of values have one for each side, in the order of the sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Comparison {
    /// Version of this form: 1.
    #[cfg_attr(test, schemars(extend("const" = SCHEMA)))]
    pub schema: u32,
    /// Sides of the comparison. All others are compared with the first.
    pub sides: Vec<SideDocument>,
    /// Why the sides cannot be compared; empty: they can. Then there are no differences.
    pub not_comparable: Vec<String>,
    /// Limits of the comparison, in words.
    pub notes: Vec<String>,
    /// Settings, hosts, versions and the like that are not the same on all sides.
    pub different: Vec<DifferentDocument>,
    /// Quantities that were measured on at least one side.
    pub metrics: Vec<MetricComparison>,
    /// The conditions of `--fail-if` that hold, in words.
    pub failed: Vec<String>,
}

/// A run, or several repeats of one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SideDocument {
    /// Its letter, from A on.
    pub name: String,
    /// Its runs: one at least.
    pub runs: Vec<ComparedRun>,
}

/// A run that is compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ComparedRun {
    /// Its run folder.
    pub folder: String,
    /// The verdict on it.
    pub result: Validity,
    /// The benchmark's name.
    pub benchmark: String,
    /// The scenario's official name.
    pub scenario: String,
    /// When it began, UTC.
    pub started_utc: String,
    /// Note of the user on the run; null when there is none.
    pub note: Option<String>,
    /// Labels of the user on the run: each value by its key. Labels that differ are no difference of the sides.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
}

/// Something that is not the same on all sides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DifferentDocument {
    /// Name of the difference: a setting, a host, a version or the like.
    pub what: String,
    /// Value on each side; null where a side has none.
    pub values: Vec<Option<String>>,
}

/// One quantity on all sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MetricComparison {
    /// Its word in `--fail-if`.
    pub name: String,
    /// Description of the quantity.
    pub about: String,
    /// `ns`, `1/s`, `bytes`, `bit/s`, `cores`, or empty.
    pub unit: String,
    /// Which way is better.
    pub better: Better,
    /// The values, means where a side has repeats; null where it has none.
    pub values: Vec<Option<f64>>,
    /// From the first side to each further one; null where there is none, or where the sides cannot be compared.
    pub differences: Vec<Option<DifferenceDocument>>,
}

/// Which way is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// Less is better.
    Lower,
    /// More is better.
    Higher,
    /// Neither way is better by itself.
    Neither,
}

/// A difference from the first side.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DifferenceDocument {
    /// By how much the other side is above the first, percent of the first.
    pub percent: f64,
    /// Where the difference is with a confidence of 95 %, percent; null where that is not known.
    pub interval_percent: Option<[f64; 2]>,
    /// Source of the interval; null without an interval.
    pub interval_of: Option<IntervalOf>,
    /// Conclusion from these figures.
    pub finding: Finding,
}

/// Source of an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum IntervalOf {
    /// Blocks of the timelines, drawn again a thousand times. What changes from run to run is not in it.
    Blocks,
    /// Three or more repeats on both sides, by Welch's t test.
    Repeats,
}

/// Meaning of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Finding {
    /// The interval has 0 in it.
    Noise,
    /// Bytes that are counted differ by less than 1 %.
    Same,
    /// The other side is better.
    Better,
    /// The other side is worse.
    Worse,
    /// There is a difference, and neither way is better.
    Differs,
    /// Another load was asked for, and the rate differs as the load does.
    AsAsked,
    /// There is no interval to say whether it is noise.
    NotJudged,
}
