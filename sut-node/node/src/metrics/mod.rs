//! What the node tells those who ask for metrics. Everything is read from counters that are there anyway, at the moment
//! in which somebody asks.
//!
//! - [`families`]: the metrics by name;
//! - [`collector`]: their values.

pub(crate) mod collector;
mod families;
