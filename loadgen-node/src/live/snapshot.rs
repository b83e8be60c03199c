//! State of a run at one moment. It has plain values, and every display is made of it.

use std::sync::Arc;
use std::time::Duration;

use super::latencies::{Latencies, Spread};
use super::phase::Phase;
use super::standing::Standing;
use loadgen::run::LagStats;
use lon_world::failures::Failed;

/// A run at one moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Snapshot {
    /// Since the nodes were claimed.
    pub(crate) elapsed: Duration,
    /// The phase that goes on, or the last one; none before the first.
    pub(crate) phase: Option<Phase>,
    /// Number of loaded samples, and of all samples to load. `None` when nothing is being loaded.
    pub(crate) loading: Option<(u64, u64)>,
    /// Queries issued, of all phases.
    pub(crate) queries: u64,
    /// Samples handed to the QDL, of all phases.
    pub(crate) issued: u64,
    /// Samples that have ended, of all phases, failed ones among them.
    pub(crate) ended: u64,
    /// Why samples failed, of all phases.
    pub(crate) failures: Vec<Failed>,
    /// Samples that ended, a second, in the last seconds.
    pub(crate) rate_per_s: f64,
    /// Latencies of the phase.
    pub(crate) latency: Spread,
    /// Latencies of first tokens of the phase; nothing outside token runs.
    pub(crate) first_token: Spread,
    /// Times per token after the first, of the phase; nothing outside token runs.
    pub(crate) per_token: Spread,
    /// Tokens of answers, a second, in the last seconds; none outside token runs.
    pub(crate) tokens_per_s: Option<f64>,
    /// Schedule lag of the phase.
    pub(crate) lag: LagStats,
    /// The largest schedule lag since the look before, ns.
    pub(crate) recent_lag_ns: u64,
    /// Each node, in the order that the user gave.
    pub(crate) nodes: Vec<Node>,
    /// Rules that are judged already.
    pub(crate) standing: Standing,
    /// Measurements of all phases, for programs that read them.
    pub(crate) totals: Arc<Totals>,
}

/// One node at one moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Node {
    /// Its name and its counters.
    pub(crate) now: qdl::NodeNow,
    /// Its share of all samples that were sent; 0 when none were.
    pub(crate) share: f64,
    /// Samples sent to it, a second, in the last seconds.
    pub(crate) samples_per_s: f64,
    /// Bytes on the sockets towards it, a second, in the last seconds.
    pub(crate) ingress_per_s: f64,
    /// Bytes on the sockets back from it, a second, in the last seconds.
    pub(crate) egress_per_s: f64,
}

/// Measurements of all phases so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Totals {
    /// Latencies of answered samples.
    pub(crate) latency: Latencies,
    /// Latencies of first tokens; empty outside token runs.
    pub(crate) first_token: Latencies,
    /// Times per token after the first; empty outside token runs.
    pub(crate) per_token: Latencies,
    /// Tokens in all answers.
    pub(crate) tokens: u64,
}

impl Snapshot {
    /// Samples that were handed to the QDL and have not ended.
    pub(crate) fn outstanding(&self) -> u64 {
        // Read one after the other, so that an answer may have come in between.
        self.issued.saturating_sub(self.ended)
    }

    /// Samples that failed.
    pub(crate) fn failed(&self) -> u64 {
        self.failures.iter().map(|failed| failed.samples).sum()
    }
}
