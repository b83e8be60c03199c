//! State of a run at one moment. It has plain values, and every display is made of it.

use std::sync::Arc;
use std::time::Duration;

use super::latencies::{Latencies, Spread};
use super::live_checks::Standing;
use super::phase::Phase;
use loadgen::run::LagStats;
use lon_world::failures::Failed;

/// A run at one moment.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// Since the nodes were claimed.
    pub elapsed: Duration,
    /// The phase that goes on, or the last one; none before the first.
    pub phase: Option<Phase>,
    /// Number of loaded samples, and of all samples to load. `None` when nothing is being loaded.
    pub loading: Option<(u64, u64)>,
    /// Queries issued, of all phases.
    pub queries: u64,
    /// Samples handed to the QDL, of all phases.
    pub issued: u64,
    /// Samples that have ended, of all phases, failed ones among them.
    pub ended: u64,
    /// Why samples failed, of all phases.
    pub failures: Vec<Failed>,
    /// Samples that ended, a second, in the last seconds.
    pub rate_per_s: f64,
    /// Latencies of the phase.
    pub latency: Spread,
    /// Latencies of first tokens of the phase; nothing outside token runs.
    pub first_token: Spread,
    /// Times per token after the first, of the phase; nothing outside token runs.
    pub per_token: Spread,
    /// Tokens of answers, a second, in the last seconds; none outside token runs.
    pub tokens_per_s: Option<f64>,
    /// Schedule lag of the phase.
    pub lag: LagStats,
    /// The largest schedule lag since the look before, ns.
    pub recent_lag_ns: u64,
    /// Each node, in the order that the user gave.
    pub nodes: Vec<Node>,
    /// Rules that are judged already.
    pub standing: Standing,
    /// Measurements of all phases, for programs that read them.
    pub totals: Arc<Totals>,
}

/// One node at one moment.
#[derive(Clone, Debug, Default)]
pub struct Node {
    /// Its name and its counters.
    pub now: qdl::NodeNow,
    /// Its share of all samples that were sent; 0 when none were.
    pub share: f64,
    /// Samples sent to it, a second, in the last seconds.
    pub samples_per_s: f64,
    /// Bytes on the sockets towards it, a second, in the last seconds.
    pub ingress_per_s: f64,
    /// Bytes on the sockets back from it, a second, in the last seconds.
    pub egress_per_s: f64,
}

/// Measurements of all phases so far.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    /// Latencies of answered samples.
    pub latency: Latencies,
    /// Latencies of first tokens; empty outside token runs.
    pub first_token: Latencies,
    /// Times per token after the first; empty outside token runs.
    pub per_token: Latencies,
    /// Tokens in all answers.
    pub tokens: u64,
}

impl Snapshot {
    /// Samples that were handed to the QDL and have not ended.
    pub fn outstanding(&self) -> u64 {
        // Read one after the other, so that an answer may have come in between.
        self.issued.saturating_sub(self.ended)
    }

    /// Samples that failed.
    pub fn failed(&self) -> u64 {
        self.failures.iter().map(|failed| failed.samples).sum()
    }
}
