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
mod effective;
pub mod judge;
pub mod plan;
pub mod recorder;
pub mod report;
mod requested;
pub mod run;
pub mod scenario;
pub mod settings;
pub mod sim;
pub mod trace;
pub mod traffic;
mod value;
pub mod vectors;
pub mod world;
