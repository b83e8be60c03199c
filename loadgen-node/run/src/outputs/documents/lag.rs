//! Lateness of samples: part of `result_summary.json`.

use loadgen::recorder::LagCourse;
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

/// The largest time between when samples were due and when they were sent, step by step.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LagCourseDocument {
    /// The length of a step, ns; 0 where there is none.
    pub step_ns: u64,
    /// The largest lag of the samples that were due in each step, ns.
    pub largest_ns: Vec<u64>,
}

impl From<LagStats> for LagDocument {
    fn from(lag: LagStats) -> LagDocument {
        LagDocument { p50: lag.p50_ns, p99: lag.p99_ns, max: lag.max_ns }
    }
}

impl From<LagCourse> for LagCourseDocument {
    fn from(LagCourse { step_ns, largest_ns }: LagCourse) -> LagCourseDocument {
        LagCourseDocument { step_ns, largest_ns }
    }
}
