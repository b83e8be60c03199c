//! Intervals between the queries of MultiStream in round v0.5: a part of `result_summary.json`.

use lon_proto::figures;
use serde::{Deserialize, Serialize};

use loadgen::judge::early_stopping::percent;
use loadgen::v05::judge::{INTERVALS_LIMIT, at_percentile, sorted};
use loadgen::v05::test::TestOutcome;

/// The intervals that queries caused. A query is issued at a tick of the rate, and ticks are skipped while an answer is
/// missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct IntervalsDocument {
    /// Queries per second: the ticks.
    pub target_qps: f64,
    /// Length of an interval, ns.
    pub interval_ns: u64,
    /// Ticks that were skipped between the first query and the last.
    pub skipped: u64,
    /// The judged percentile, in percent.
    pub percentile: f64,
    /// Intervals that a query caused at that percentile.
    pub at_percentile: u64,
    /// Most intervals that a query caused.
    pub most: u64,
    /// Most intervals that a VALID result has at the percentile.
    pub limit: u64,
}

impl IntervalsDocument {
    /// The intervals of the reported series; none in scenarios without ticks.
    pub(crate) fn of(test: &TestOutcome) -> Option<IntervalsDocument> {
        let reported = test.reported.as_ref()?;
        let series = test.series.get(reported.series)?;
        let fraction = series.effective.target_latency_percentile?;
        let caused = sorted(&reported.measured.query_intervals);
        let most = *caused.last().filter(|_| series.effective.has_ticks())?;
        let skipped = series.run.record.queries().iter().skip(1).map(|query| query.intervals_before.saturating_sub(1));
        Some(IntervalsDocument {
            target_qps: series.effective.target_qps,
            interval_ns: (1e9 / series.effective.target_qps) as u64,
            skipped: skipped.sum(),
            percentile: percent(fraction),
            at_percentile: at_percentile(&caused, fraction),
            most,
            limit: INTERVALS_LIMIT - 1,
        })
    }

    /// As a line of the screen.
    pub(crate) fn text(&self) -> String {
        let IntervalsDocument { percentile, at_percentile, most, limit, skipped, .. } = *self;
        let verdict = if at_percentile <= limit { "kept" } else { "missed" };
        let interval = figures::length_ns(self.interval_ns);
        let limit = format!("limit of p{percentile} {limit}, {verdict}");
        format!("of {interval}: p{percentile} {at_percentile}, most {most}, {skipped} skipped ({limit})")
    }
}
