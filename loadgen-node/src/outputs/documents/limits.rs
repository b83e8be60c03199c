//! Latencies beside their limits: part of `result_summary.json`.

use serde::{Deserialize, Serialize};

use crate::test_run::finished::Finished;
use crate::verdict::limits::{LatencyLimit, Limited};

/// A latency and its limit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LimitDocument {
    /// `latency`, of samples; `ttft`, to their first token; `tpot`, per token after it.
    pub of: String,
    /// The percentile that is judged, in percent.
    pub percentile: f64,
    /// The latency at that percentile, ns.
    pub value_ns: i64,
    /// The limit, ns.
    pub limit_ns: u64,
    /// Whether the value does not exceed the limit. Early stopping may want more queries to be sure of it.
    pub kept: bool,
}

impl LimitDocument {
    /// Every latency that has a limit.
    pub(crate) fn all(finished: &Finished) -> Vec<LimitDocument> {
        let summary = finished.outcome.summary.iter();
        let all = summary.flat_map(|summary| LatencyLimit::all(summary, finished.setup.plan.effective()));
        all.map(|limit| LimitDocument::from(&limit)).collect()
    }
}

impl From<&LatencyLimit> for LimitDocument {
    fn from(limit: &LatencyLimit) -> LimitDocument {
        let of = match limit.of {
            Limited::Latency => "latency",
            Limited::FirstToken => "ttft",
            Limited::PerToken => "tpot",
        };
        let LatencyLimit { percentile, value_ns, limit_ns, .. } = *limit;
        LimitDocument { of: of.to_owned(), percentile, value_ns, limit_ns, kept: limit.is_kept() }
    }
}
