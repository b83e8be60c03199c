//! Settings as a person or a file gives them, by name.
//!
//! | file | what it has |
//! |---|---|
//! | `keys` | the config keys of LoadGen: which field each one sets, in which scenario and unit |
//! | `assign` | `[SCENARIO.]KEY=VALUE` on a command line -> a checked [`Assignment`] |
//! | `seeds` | the seeds of the official rounds |
//! | `profile` | by which release's rules traffic is generated |
//!
//! The record that all of this fills is [`TestSettings`]; official config files are read by [`crate::conf`].

mod assign;
pub(crate) mod keys;
mod profile;
mod seeds;

pub use assign::{Assignment, AssignmentError};
pub use profile::{IntegerRule, Profile, SetRule};
pub use seeds::{OFFICIAL_SEEDS, Round, TEST01_ACCURACY_LOG_SEED, TEST05_SEEDS};

pub use crate::requested::{Mode, Qsl, Requested, Seeds};
pub use crate::scenario::{Scenario, TestSettings};
