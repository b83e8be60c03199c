//! The scenario engine of MLPerf LoadGen.
//!
//! The engine asks what the official LoadGen asks, when it asks it, and judges as it judges. It is pure: it has no
//! clock, socket, file or thread, and everything outside comes through [`world::World`]. `tests/wall.rs`
//! checks that.
//!
//! A test goes through these rooms, from settings to reports. Each one imports only rooms below it in this table.
//!
//! | room | what it turns into what |
//! |---|---|
//! | [`sim`] | a world with virtual time, for tests |
//! | [`v05`] | settings and world -> traffic, verdict and summary by the rules of round v0.5 |
//! | [`official`] | logs of the official LoadGen -> what this engine judges otherwise |
//! | [`vectors`] | settings -> traffic, measured latencies -> reports, as JSON; for checking other LoadGens |
//! | [`report`] | a run and its summary -> the official files, as text |
//! | [`run`] | plan and world -> a [`run::RunOutcome`]: issuing, waiting, recording; the search for the peak |
//! | [`recorder`] | answers -> 8 bytes a sample, each ended exactly once; the [`recorder::Timeline`] of a phase |
//! | [`plan`] | settings and library -> a checked [`plan::Plan`]; what its run will take |
//! | [`trace`] | seeds -> loaded sets, queries with due times, logged samples |
//! | [`conf`] | official config files -> settings, each with its origin |
//! | [`settings`] | `KEY=VALUE` -> settings; seeds of the rounds, rules of the releases |
//! | `effective` | requested settings -> [`plan::Effective`] ones, in the chosen scenario |
//! | [`scenarios`] | what a scenario is made of, and the list of those that exist |
//! | [`judge`] | measured latencies -> a [`judge::Summary`]; one file for each scenario: verdict and metric |
//! | [`traffic`] | requested settings -> what is asked; one file for each scenario |
//! | `value` | a value as the official logs print it |
//! | `time_units` | units of time that a person types |
//! | `mode` | the mode of a test, the sizes of its sample library, and its seeds |
//! | [`further_settings`] | settings beside the official ones, which a scenario declares |
//! | [`world`] | time, issuing and arrivals: all that the engine sees of the world |

pub mod conf;
mod effective;
pub mod further_settings;
pub mod judge;
mod mode;
pub mod official;
pub mod plan;
pub mod recorder;
pub mod report;
pub mod run;
pub mod scenarios;
pub mod settings;
pub mod sim;
mod time_units;
pub mod trace;
pub mod traffic;
pub mod v05;
mod value;
pub mod vectors;
pub mod world;
