//! One value for each way in which a probe fills a fabric.

use serde::{Deserialize, Serialize};

/// One value for each way in which a fabric is filled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ByWay<T> {
    /// Towards the SUT, with nothing coming back.
    pub up: T,
    /// Back from the SUT, with nothing going there.
    pub down: T,
    /// Both directions at once; of goodput their sum.
    pub both: T,
}

impl<T> ByWay<T> {
    /// The three values, in the order of the fields.
    pub fn each(self) -> [T; 3] {
        [self.up, self.down, self.both]
    }

    /// The same of borrowed values.
    pub fn as_ref(&self) -> ByWay<&T> {
        ByWay { up: &self.up, down: &self.down, both: &self.both }
    }

    /// Each value as `of` turns it.
    pub fn map<U>(self, of: impl FnMut(T) -> U) -> ByWay<U> {
        let [up, down, both] = self.each().map(of);
        ByWay { up, down, both }
    }
}
