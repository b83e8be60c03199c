//! One value for each direction.

use serde::{Deserialize, Serialize};

/// One value for each direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ByDirection<T> {
    /// Towards the SUT.
    pub ingress: T,
    /// Back to the LoadGen node.
    pub egress: T,
}

impl<T> ByDirection<T> {
    /// Each value as `of` turns it.
    pub fn map<U>(self, mut of: impl FnMut(T) -> U) -> ByDirection<U> {
        ByDirection { ingress: of(self.ingress), egress: of(self.egress) }
    }
}
