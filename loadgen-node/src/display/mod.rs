//! Runs as they are shown while they go on: one alone, or the tenants of a mix beside each other. Everything is made of
//! [`lon_run::live`]'s snapshots.
//!
//! - `ui`: which display is wanted, and which one the terminal can have; `show`: the thread that shows it; `viewer`:
//!   the runs that it looks at;
//! - `line`: a progress line for each run, or lines of the log; `steps`: how many of how many are done;
//! - `dashboard`: the terminal as a whole; `metrics`: for programs that ask;
//! - `units`: numbers as both have them.

mod dashboard;
mod line;
pub(crate) mod metrics;
pub(crate) mod show;
pub(crate) mod steps;
pub(crate) mod ui;
mod units;
pub(crate) mod viewer;
