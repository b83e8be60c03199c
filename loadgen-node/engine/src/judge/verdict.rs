//! The strict verdict and its reasons, as values.
//!
//! The official verdict ignores failed, lost and doubled samples; this one does not. `run::reasons` adds the official
//! reasons and the counts of samples. The LoadGen node adds its own, schedule lag and lost nodes among them. A run is
//! VALID when nothing was added.

use serde::Serialize;

/// One reason against a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reason {
    /// A stable word for programs, for example `failed_samples`.
    pub code: String,
    /// A sentence for people.
    pub text: String,
}

/// Whether a run is VALID, and why not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// The official verdict; `None` when no performance phase was judged.
    pub official: Option<bool>,
    /// Reasons against the run, those of the official verdict included.
    pub reasons: Vec<Reason>,
}

impl Verdict {
    /// Whether the run is VALID: there is no reason against it, and the official verdict is not INVALID.
    pub fn is_valid(&self) -> bool {
        self.reasons.is_empty() && self.official.unwrap_or(true)
    }

    /// Adds a reason against the run.
    pub fn add(&mut self, code: &str, text: impl Into<String>) {
        self.reasons.push(Reason { code: code.to_owned(), text: text.into() });
    }

    /// Adds a reason about a number of samples, unless the number is 0.
    pub(crate) fn add_samples(&mut self, code: &str, samples: u64, what: &str) {
        match samples {
            0 => {}
            1 => self.add(code, format!("1 sample {what}")),
            n => self.add(code, format!("{n} samples {what}")),
        }
    }
}
