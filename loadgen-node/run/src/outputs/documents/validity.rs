//! The verdict on a run: part of every document that has one.

use serde::{Deserialize, Serialize};

/// A verdict on a run, as it stands in the files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "UPPERCASE")]
pub enum Validity {
    /// There is no reason against the result.
    Valid,
    /// There is at least one reason against the result.
    #[default]
    Invalid,
}

impl Validity {
    /// The validity of a result that is VALID or not.
    pub fn of(valid: bool) -> Validity {
        if valid { Validity::Valid } else { Validity::Invalid }
    }

    /// The verdict as screens show it.
    pub fn word(self) -> &'static str {
        match self {
            Validity::Valid => "VALID",
            Validity::Invalid => "INVALID",
        }
    }
}
