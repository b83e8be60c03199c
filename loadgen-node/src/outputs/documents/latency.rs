//! How latencies are spread, as `result_summary.json` has it. Pure.

use serde_json::{Value, json};

use loadgen::judge::LatencyStats;

/// All in ns.
pub(crate) fn json(stats: &LatencyStats) -> Value {
    let [p50, p90, p95, p97, p99, p99_9] = stats.percentiles_ns;
    json!({
        "min": stats.min_ns, "mean": stats.mean_ns, "p50": p50, "p90": p90, "p95": p95, "p97": p97, "p99": p99,
        "p99_9": p99_9, "max": stats.max_ns,
    })
}
