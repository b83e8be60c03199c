//! Early stopping: how many over-latency queries a run of a given length may have, at 99 % confidence.
//!
//! | file | what it has |
//! |---|---|
//! | `rule` | judges latencies by a scenario's rule; the official texts |
//! | `binomial` | the statistics behind them |
//! | `query_count` | how many queries a percentile needs |
//!
//! Which rule a scenario has, and which latencies are judged by it, is decided by [`super::judge`] and by the scenario.

mod binomial;
mod query_count;
mod rule;

pub use binomial::{Bound, min_passing};
pub use query_count::{QueryCount, USUAL, percent};
pub use rule::{CONFIDENCE, Judgement, Rule, Subject};
