//! Quantities of a comparison, each with the text of the official logs and the text of this engine.

use serde::{Deserialize, Serialize};

/// Why a quantity is not compared to the digit.
pub(super) const WITHIN: &str = "within what the logs leave open";

/// Agreement between the official logs and this engine on a quantity.
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

/// Part of a comparison that a quantity belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// The settings in force, which follow from the requested ones.
    Settings,
    /// The traffic for these settings: number of queries, duration, and the samples that are loaded.
    Traffic,
    /// The consistency of the trace with itself.
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
    /// Part of the comparison that the quantity belongs to.
    pub part: Part,
    /// The key of the detail log, or the label of the line in the summary file.
    pub name: String,
    /// The text that the official logs have; null where they have none and this engine does.
    pub official: Option<String>,
    /// The text that this engine comes to, or the smallest and the largest that fit the logs. Null where there is none.
    pub ours: Option<String>,
    /// Agreement between the official logs and this engine.
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

/// Extent and precision of an official run's trace, for the phase that is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TraceExtent {
    /// Number of samples of the phase that the trace has.
    pub samples: u64,
    /// The smallest step of its times, ns: 1.
    pub resolution_ns: u64,
    /// Uncertainty of the start of the phase, ns; 0 where the trace shows the start.
    pub start_uncertain_ns: u64,
}

/// Official logs, held against what this engine makes of the same settings and latencies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Comparison {
    /// Version of the official LoadGen, as its log has it.
    pub loadgen_version: String,
    /// The scenario of the run.
    pub scenario: String,
    /// The mode of the run.
    pub mode: String,
    /// The official verdict, `VALID` or `INVALID`; null of a run without a performance phase.
    pub official: Option<String>,
    /// The verdict of this engine by the official rules; null where it is unchecked.
    pub ours: Option<String>,
    /// Findings from the trace; null without a trace.
    pub trace: Option<TraceExtent>,
    /// Every quantity, in the order of the logs.
    pub quantities: Vec<Quantity>,
}

impl Comparison {
    /// The first quantity on which they disagree.
    pub fn first_difference(&self) -> Option<&Quantity> {
        self.quantities.iter().find(|quantity| quantity.agreement == Agreement::Differs)
    }

    /// Returns the number of quantities with this outcome.
    pub fn count(&self, agreement: Agreement) -> usize {
        self.quantities.iter().filter(|quantity| quantity.agreement == agreement).count()
    }
}
