//! Text for latencies and their limits.

use lon_proto::figures::{duration_ns, length_ns};

use crate::outputs::documents::parts::LatencySpread;

/// A latency in words. That of what was never answered is no time.
pub(crate) fn latency_text(ns: Option<i64>) -> String {
    ns.map_or_else(|| "no answer".to_owned(), duration_ns)
}

/// The percentiles that the screen shows, and the maximum.
pub(crate) fn spread_text(of: &LatencySpread) -> String {
    let [p50, p90, p99, p99_9, max] = [of.p50, of.p90, of.p99, of.p99_9, of.max].map(latency_text);
    format!("p50 {p50}, p90 {p90}, p99 {p99}, p99.9 {p99_9}, max {max}")
}

/// A limit and whether it was kept.
pub(crate) fn limit_text(limit_ns: u64, is_kept: bool) -> String {
    format!("limit {}: {}", length_ns(limit_ns), if is_kept { "within" } else { "EXCEEDED" })
}
