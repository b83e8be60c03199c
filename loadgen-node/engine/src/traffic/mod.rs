//! Traffic of the scenarios: one file for each scenario, and the contract that they fulfil.
//!
//! | file | what it has |
//! |---|---|
//! | `rules` | [`Traffic`], the contract: requested settings -> effective values and a [`Shape`] |
//! | `shape` | [`Shape`]: samples, issue and latency of queries, as plain values |
//! | `single_stream`, `multi_stream`, `server`, `offline` | the scenarios |
//! | `checks` | checks that several scenarios share |
//! | `error` | [`PlanError`]: why settings cannot be run |
//!
//! How a scenario is judged is in [`crate::judge`]; [`crate::scenario`] puts the two together.

mod checks;
mod error;
mod multi_stream;
mod offline;
mod rules;
mod server;
mod shape;
mod single_stream;

pub use error::PlanError;
pub(crate) use multi_stream::MultiStream;
pub(crate) use offline::Offline;
pub use rules::{Request, Sanitised, Traffic};
pub(crate) use server::Server;
pub use shape::{Expected, Gap, LatencyStart, Layout, Shape, Trigger};
pub(crate) use single_stream::SingleStream;
