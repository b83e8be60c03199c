//! Traffic of the scenarios: one file for each scenario, and the contract that they fulfil.
//!
//! | file | what it has |
//! |---|---|
//! | `test_settings` | [`TestSettings`], the handle of a scenario, and [`Traffic`]: from settings to a [`Shape`] |
//! | `shape` | [`Shape`]: samples, issue and latency of queries, as plain values |
//! | `single_stream`, `multi_stream`, `server`, `offline`, `burst`, `closed` | the scenarios |
//! | [`arrivals`] | the processes by which queries with due times follow one another |
//! | `checks` | checks that several scenarios share |
//! | `error` | [`PlanError`]: why settings cannot be run |
//!
//! How a scenario is judged is in [`crate::judge`]; [`crate::scenarios`] puts the two together.

pub mod arrivals;
mod burst;
mod checks;
mod closed;
mod error;
mod multi_stream;
mod offline;
mod server;
mod shape;
mod single_stream;
mod test_settings;

pub use arrivals::Arrivals;
pub(crate) use burst::Burst;
pub(crate) use closed::Closed;
pub use error::PlanError;
pub(crate) use multi_stream::MultiStream;
pub(crate) use offline::Offline;
pub(crate) use server::Server;
pub use server::arrivals_text;
pub(crate) use shape::first_tick_ns;
pub use shape::{Expected, LatencyStart, Layout, Shape, Trigger};
pub(crate) use single_stream::SingleStream;
pub use test_settings::{Definition, Load, Request, Sanitised, Scenario, TestSettings, Traffic};
