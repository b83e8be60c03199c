//! The part of `probe --json` that says what differs from a stored probe.

use serde::{Deserialize, Serialize};

/// Differences from a stored probe.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AgainstDocument {
    /// The file with the stored probe.
    pub file: String,
    /// Loss of goodput that is allowed, percent.
    pub tolerance_percent: f64,
    /// True when every goodput was shown to be no lower than the tolerance allows, and the ends are configured as in
    /// the stored probe.
    pub passed: bool,
    /// Differences from the stored probe, and goodputs that are undecided.
    pub changes: Vec<ChangeDocument>,
    /// Goodputs that are as in the stored probe.
    #[serde(default)]
    pub unchanged: Vec<ChangeDocument>,
}

/// One quantity, beside that of the stored probe.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ChangeDocument {
    /// The transport that was probed.
    pub transport: String,
    /// The node's name; null for all nodes at once.
    pub node: Option<String>,
    /// The quantity, in words.
    pub quantity: String,
    /// Value in the stored probe, in words.
    pub before: String,
    /// Value in this probe, in words.
    pub now: String,
    /// The difference of the means, percent; null for what is no number.
    pub change_percent: Option<f64>,
    /// Where the difference is with a confidence of 95 %, lower and upper end, percent; null with fewer than three
    /// repeats on one of the sides.
    pub interval_percent: Option<[f64; 2]>,
    /// Rating of the difference.
    pub kind: ChangeKind,
    /// Where its cause most likely is; null where there is nothing to explain.
    pub likely: Option<LikelyDocument>,
}

/// Rating of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// It is lower than the tolerance allows, and no interval says that this may be chance.
    Worse,
    /// It is higher by more than the tolerance.
    Better,
    /// The interval of the difference reaches below what the tolerance allows, without a proof; or it is not known,
    /// with fewer than three repeats or a goodput that was not measured.
    #[serde(alias = "uncertain")]
    Undecided,
    /// It is not lower than the tolerance allows.
    Same,
    /// An end is configured in another way.
    Configuration,
}

impl AgainstDocument {
    /// Returns true when nothing is shown to be worse, and something may be.
    pub fn is_undecided(&self) -> bool {
        let is_bad = |change: &ChangeDocument| matches!(change.kind, ChangeKind::Worse | ChangeKind::Configuration);
        !self.passed && !self.changes.iter().any(is_bad)
    }
}

impl ChangeKind {
    /// As tables and the screen have it.
    pub fn word(self) -> &'static str {
        match self {
            ChangeKind::Worse => "worse",
            ChangeKind::Better => "better",
            ChangeKind::Undecided => "undecided",
            ChangeKind::Same => "same",
            ChangeKind::Configuration => "differs",
        }
    }
}

/// Where the cause of a difference most likely is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LikelyDocument {
    /// The kind of place.
    pub place: Place,
    /// The host or the node whose link it is; null where it cannot be told.
    pub name: Option<String>,
    /// The direction that suffers: up, down or both.
    pub direction: String,
    /// Evidence for this place, in words.
    pub why: String,
}

/// The kind of place where a cause is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// A host: its processors, kernel or programs.
    Host,
    /// A link: cable, port, or what limits the rate there.
    Link,
    /// A link that all nodes share: the LoadGen node's own link, or a link between switches.
    SharedLink,
    /// It cannot be told.
    Unknown,
}
