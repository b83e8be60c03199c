//! The scenario engine of MLPerf LoadGen.
//!
//! The engine asks what the official LoadGen asks, when it asks it, and judges as it judges. It is pure: no clock,
//! socket, file or thread; everything outside comes through [`world::World`]. A test goes through these files:
//!
//! | file | what it turns into what |
//! |---|---|
//! | [`settings`] | what the user asks for, with the official names and units |
//! | [`conf`] | official config files -> settings, each with its origin; what a run with them will take |
//! | [`plan`] | settings and library -> a checked [`plan::Plan`]: effective settings, loaded sets, sizes of phases |
//! | [`profile`] | which release's rules the traffic follows |
//! | `rng`, `sets`, [`trace`], `picks` | seeds -> loaded samples, queries with due times, logged samples |
//! | `scenario` | what distinguishes SingleStream, MultiStream, Server and Offline, one file each |
//! | [`issuer`] | (now, outstanding) -> issue, wait, stop |
//! | [`run`] | plan and world -> a [`run::RunOutcome`]: the loop around issuer and recorder |
//! | `recorder`, [`timeline`] | answers -> 8 bytes a sample, each sample ended exactly once |
//! | [`results`], [`early_stopping`] | timeline -> a complete [`summary::Summary`] |
//! | [`find_peak`] | results of trials -> the next rate of a search for the peak |
//! | [`verdict`] | the official verdict and every further reason -> the strict verdict |
//! | [`report`] | summary and [`events`] -> the official files, as text |
//! | [`vectors`] | settings -> traffic, and measured latencies -> report, as JSON; for checking against other LoadGens |
//! | [`sim`] | a world with virtual time, for tests |

pub mod conf;
pub mod early_stopping;
pub mod events;
pub mod find_peak;
pub mod issuer;
pub mod plan;
pub mod profile;
pub mod report;
pub mod results;
pub mod run;
pub mod settings;
pub mod sim;
pub mod summary;
pub mod timeline;
pub mod trace;
pub mod vectors;
pub mod verdict;
pub mod world;

mod picks;
mod recorder;
mod rng;
mod scenario;
mod sets;
