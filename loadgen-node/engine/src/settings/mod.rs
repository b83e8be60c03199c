//! Settings as a person or a file gives them, by name.
//!
//! | file | what it has |
//! |---|---|
//! | `keys` | the config keys of LoadGen: which field each one sets, in which scenario and unit |
//! | `typed` | the number that a person types for a setting, with its unit or without |
//! | `names` | the names that a person types: scenarios, modes, rounds |
//! | `assign` | `[SCENARIO.]KEY=VALUE` on a command line -> a checked [`Assignment`] |
//! | `seeds` | the seeds of the official rounds |
//! | `profile` | by which release's rules traffic is generated |
//!
//! The record that all of this fills is [`TestSettings`]; official config files are read by [`crate::conf`].

mod assign;
pub(crate) mod keys;
mod names;
mod profile;
mod seeds;
mod typed;

pub use assign::{Assigned, Assignment, AssignmentError};
pub use keys::{SettingKey, setting_keys};
pub use names::{UnknownName, named};
pub use profile::{IntegerRule, Profile, SetRule};
pub use seeds::{OFFICIAL_SEEDS, Round, TEST01_ACCURACY_LOG_SEED, TEST05_SEEDS};

pub use crate::further_settings::{Further, FurtherKey, FurtherValue, Quantity};
pub use crate::mode::{Mode, Qsl, Seeds};
pub use crate::scenarios::{Scenario, TestSettings};
