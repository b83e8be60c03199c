//! Latencies beside their limits: part of `result_summary.json`.

use serde::{Deserialize, Serialize};

use crate::verdict::limits::{LatencyLimit, Limited};
use loadgen::judge::Summary;
use loadgen::plan::Effective;

/// A latency and its limit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LimitDocument {
    /// `latency`, of samples; `ttft`, to their first token; `tpot`, per token after it.
    pub of: String,
    /// The percentile that is judged, in percent.
    pub percentile: f64,
    /// The latency at that percentile, ns; null where what is there was never answered.
    pub value_ns: Option<i64>,
    /// The limit, ns.
    pub limit_ns: u64,
    /// True when there is a value, and it does not exceed the limit. Early stopping may need more queries to be sure.
    pub kept: bool,
}

impl LimitDocument {
    /// Every latency of a summary that has a limit in these settings.
    pub(crate) fn all(summary: &Summary, effective: &Effective) -> Vec<LimitDocument> {
        LatencyLimit::all(summary, effective).iter().map(LimitDocument::from).collect()
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
