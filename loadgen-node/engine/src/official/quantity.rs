//! What a comparison consists of: quantities, each with what the official logs say and what this engine says.

use serde::{Deserialize, Serialize};

/// Why a quantity is not compared to the digit.
pub(super) const WITHIN: &str = "within what the logs leave open";

/// Whether the official logs and this engine say the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Agreement {
    /// Both say the same, to the digit unless the quantity has a note.
    Same,
    /// They say different things.
    Differs,
    /// The logs do not have what it takes to work the quantity out again. The note says why.
    Unchecked,
}

/// What a quantity belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// The settings in force, which follow from the requested ones.
    Settings,
    /// How many queries are generated for these settings, for which duration, and which samples are loaded.
    Traffic,
    /// Whether the trace agrees with itself.
    Trace,
    /// The results in the detail log, the verdict among them.
    Results,
    /// The lines of the summary file.
    Summary,
}

/// One thing that the official logs say, and what this engine says of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Quantity {
    /// What the quantity belongs to.
    pub part: Part,
    /// The key of the detail log, or the label of the line in the summary file.
    pub name: String,
    /// The text that the official logs have; null where they have none and this engine does.
    pub official: Option<String>,
    /// The text that this engine comes to, or the smallest and the largest that fit the logs. Null where there is none.
    pub ours: Option<String>,
    /// Whether both say the same.
    pub agreement: Agreement,
    /// Why the quantity is unchecked, why it is not compared to the digit, or by which rule it was drawn. Absent
    /// otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl Quantity {
    /// True where it lies between what the logs leave open, and is not compared to the digit.
    pub(super) fn is_within(&self) -> bool {
        self.note.as_deref() == Some(WITHIN)
    }
}

/// What the trace of an official run shows of the phase that is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TraceSeen {
    /// How many samples of the phase it has.
    pub samples: u64,
    /// The smallest step of its times, ns: 1.
    pub resolution_ns: u64,
    /// How many ns the start of the phase is uncertain by; 0 where the trace shows it.
    pub start_uncertain_ns: u64,
}

/// Official logs, held against what this engine makes of the same settings and latencies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// What the logs say of the official LoadGen's version.
    pub loadgen_version: String,
    /// The scenario of the run.
    pub scenario: String,
    /// The mode of the run.
    pub mode: String,
    /// The official verdict, `VALID` or `INVALID`; none of a run without a performance phase.
    pub official: Option<String>,
    /// The verdict of this engine; none where it is unchecked.
    pub ours: Option<String>,
    /// What the trace shows; none without a trace.
    pub trace: Option<TraceSeen>,
    /// Every quantity, in the order of the logs.
    pub quantities: Vec<Quantity>,
}

impl Comparison {
    /// The first quantity on which they disagree.
    pub fn first_difference(&self) -> Option<&Quantity> {
        self.quantities.iter().find(|quantity| quantity.agreement == Agreement::Differs)
    }

    /// How many quantities have this outcome.
    pub fn count(&self, agreement: Agreement) -> usize {
        self.quantities.iter().filter(|quantity| quantity.agreement == agreement).count()
    }
}
