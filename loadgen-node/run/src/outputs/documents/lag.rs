//! Lateness of samples: part of `result_summary.json`.

use loadgen::run::LagStats;
use serde::{Deserialize, Serialize};

/// Time between when samples were due and when they were sent, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LagDocument {
    /// The 50th percentile, ns.
    pub p50: u64,
    /// The 99th percentile, ns.
    pub p99: u64,
    /// The largest lag, ns.
    pub max: u64,
}

impl From<LagStats> for LagDocument {
    fn from(lag: LagStats) -> LagDocument {
        LagDocument { p50: lag.p50_ns, p99: lag.p99_ns, max: lag.max_ns }
    }
}
