//! Metrics of the node. All values come from counters that exist anyway, at the moment in which somebody asks.
//!
//! - [`families`]: the metrics by name;
//! - [`collector`]: their values.

pub(crate) mod collector;
mod families;
