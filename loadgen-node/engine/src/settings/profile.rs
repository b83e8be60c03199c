//! Which LoadGen release's traffic is reproduced: the two rules by which releases differ.
//!
//! The same seeds give different traffic depending on who compiled LoadGen, and on how its release cuts the library
//! for a performance phase. The newest rules are the default; older ones are for comparing with runs of their time.

use serde::{Deserialize, Serialize};

/// Rule by which a draw of the random engine becomes an integer below a bound: a matter of the compiler's library.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum IntegerRule {
    /// The high half of a product (GCC 11 and later).
    #[default]
    Product,
    /// A quotient (GCC 7 to 10).
    Division,
    /// A quotient, and a shuffle that draws for each item (GCC 6 and earlier).
    Division6,
    /// The low bits, in another order of shuffling (libc++, the library of macOS).
    Mask,
}

impl IntegerRule {
    /// All rules, the newest of the published packages first.
    pub const ALL: [IntegerRule; 4] = [Self::Product, Self::Division, Self::Division6, Self::Mask];

    /// The word for it in documents and on command lines.
    pub fn name(self) -> &'static str {
        match self {
            Self::Product => "product",
            Self::Division => "division",
            Self::Division6 => "division6",
            Self::Mask => "mask",
        }
    }
}

/// From which samples the set of a performance phase is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SetRule {
    /// From those below the performance count (6.0.6 and later).
    #[default]
    BelowPerformanceCount,
    /// From the whole library (6.0.5 and earlier).
    WholeLibrary,
}

/// The rules by which one release generates traffic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Profile {
    /// Rule by which a draw becomes an integer below a bound.
    pub integers: IntegerRule,
    /// From which samples the set of a performance phase is drawn.
    pub set: SetRule,
}

impl Profile {
    /// LoadGen 6.0.6 and later.
    pub const NEWEST: Profile = Profile { integers: IntegerRule::Product, set: SetRule::BelowPerformanceCount };
    /// LoadGen 4.0, and 5.0.19 to 6.0.5.
    pub const BEFORE_6_0_6: Profile = Profile { integers: IntegerRule::Product, set: SetRule::WholeLibrary };
    /// LoadGen 4.1, and 5.0.0 to 5.0.18, as they were published.
    pub const GCC_10: Profile = Profile { integers: IntegerRule::Division, set: SetRule::WholeLibrary };

    /// All that were ever published, by the names that commands and files use, newest first.
    pub const ALL: [(&'static str, Profile); 3] =
        [("newest", Self::NEWEST), ("before-6.0.6", Self::BEFORE_6_0_6), ("gcc-10", Self::GCC_10)];

    /// All that a LoadGen can have, with those that were published first: others are built from source with an older
    /// compiler, or on macOS.
    pub const POSSIBLE: [Profile; 8] = [
        Self::NEWEST,
        Self::BEFORE_6_0_6,
        Self::GCC_10,
        Profile { integers: IntegerRule::Division, set: SetRule::BelowPerformanceCount },
        Profile { integers: IntegerRule::Mask, set: SetRule::BelowPerformanceCount },
        Profile { integers: IntegerRule::Mask, set: SetRule::WholeLibrary },
        Profile { integers: IntegerRule::Division6, set: SetRule::BelowPerformanceCount },
        Profile { integers: IntegerRule::Division6, set: SetRule::WholeLibrary },
    ];

    /// The profile with this name.
    pub fn from_name(name: &str) -> Option<Profile> {
        Self::ALL.into_iter().find(|(other, _)| *other == name).map(|(_, profile)| profile)
    }

    /// The name of this profile; `None` for a combination that was never published.
    pub fn name(self) -> Option<&'static str> {
        Self::ALL.into_iter().find(|(_, profile)| *profile == self).map(|(name, _)| name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_is_the_default_and_names_lead_back() {
        assert_eq!(Profile::default(), Profile::NEWEST);
        for (name, profile) in Profile::ALL {
            assert_eq!((Profile::from_name(name), profile.name()), (Some(profile), Some(name)));
            assert!(Profile::POSSIBLE.contains(&profile));
        }
    }
}
