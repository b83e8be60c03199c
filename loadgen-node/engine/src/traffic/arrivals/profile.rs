//! A rate that changes over time.
//!
//! A query is due each time that the integral of the rate has grown by one (even), or by an exponential draw of mean 1.
//! The draws give a Poisson process with that rate (Cinlar's inversion).

use std::sync::Arc;

/// The rate over time.
#[derive(Clone, Debug, PartialEq)]
pub enum Profile {
    /// One rate after the other; the last one goes on.
    Stages(Arc<[Stage]>),
    /// From one rate to another, which goes on.
    Ramp {
        /// The rate at the start, queries per second.
        from_per_s: f64,
        /// The rate at the end.
        to_per_s: f64,
        /// Length of the ramp, ns.
        over_ns: u64,
        /// The rate grows by equal factors, and not by equal steps.
        is_exponential: bool,
    },
    /// A sine around a mean, which begins at the mean and rises.
    Sine {
        /// The mean rate, queries per second.
        mean_per_s: f64,
        /// The largest distance from the mean; at most the mean.
        amplitude_per_s: f64,
        /// Length of a period, ns.
        period_ns: u64,
    },
}

/// A part of [`Profile::Stages`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stage {
    /// The rate, queries per second.
    pub rate_per_s: f64,
    /// Length of the stage, ns.
    pub for_ns: u64,
}

impl Profile {
    /// Mean rate over the time that the profile describes, queries per second.
    pub fn mean_per_s(&self) -> f64 {
        match self {
            Self::Stages(stages) => {
                let queries: f64 = stages.iter().map(|stage| stage.rate_per_s * stage.for_ns as f64).sum();
                queries / self.span_ns() as f64
            }
            Self::Ramp { from_per_s, to_per_s, is_exponential: true, .. } if from_per_s != to_per_s => {
                (to_per_s - from_per_s) / (to_per_s / from_per_s).ln()
            }
            Self::Ramp { from_per_s, to_per_s, .. } => f64::midpoint(*from_per_s, *to_per_s),
            Self::Sine { mean_per_s, .. } => *mean_per_s,
        }
    }

    /// The time that the profile describes, ns; of a sine one period.
    pub fn span_ns(&self) -> u64 {
        match self {
            Self::Stages(stages) => stages.iter().map(|stage| stage.for_ns).sum(),
            Self::Ramp { over_ns, .. } => *over_ns,
            Self::Sine { period_ns, .. } => *period_ns,
        }
    }
}
