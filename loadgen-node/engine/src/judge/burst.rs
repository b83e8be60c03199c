//! Burst is compared by a percentile of the latency, which must stay within a limit. Early stopping does not apply: the
//! latencies of one burst depend on one another.

use super::headlines::Headlines;
use super::measured::Measured;
use super::phase_limits::Terms;
use super::rules::{Judge, JudgedDuration};
use super::summary::{Metric, Rates, Summary};
use crate::value::{Entry, Line, Value};

/// The judging of Burst.
pub(crate) struct Burst;

impl Judge for Burst {
    fn judged_duration(&self, measured: &Measured) -> JudgedDuration {
        let advice = "Increase min_duration or min_query_count so the loadgen generates more bursts.";
        JudgedDuration { seconds: measured.final_query_issued_s, advice }
    }

    fn has_latency_limit(&self, _terms: &Terms) -> bool {
        true
    }

    fn metric(&self, rates: &Rates, _estimate_ns: Option<f64>) -> Metric {
        Metric::new("result_burst_target_percentile_latency_ns", rates.target_latency_ns, "ns")
    }
}

impl Headlines for Burst {
    fn leading_stats(&self, summary: &Summary) -> Vec<Line> {
        let Some(bursts) = &summary.bursts else { return Vec::new() };
        vec![
            ("Queries per burst               : ".into(), bursts.size.into()),
            ("Bursts                          : ".into(), bursts.bursts.into()),
            ("Mean time of a burst (ns)       : ".into(), bursts.completion.mean_ns.into()),
            ("Largest backlog at a start      : ".into(), bursts.backlog_max.into()),
            ("Scheduled samples per second    : ".into(), Value::Fixed(summary.rates.scheduled_samples_per_s)),
            ("Completed samples per second    : ".into(), Value::Fixed(summary.rates.completed_samples_per_s)),
        ]
    }

    fn results(&self, summary: &Summary) -> Vec<Entry> {
        let mut results =
            vec![("result_burst_target_percentile_latency_ns".into(), summary.judged_latency().target_ns.into())];
        if let Some(bursts) = &summary.bursts {
            results.push(("result_burst_size".into(), bursts.size.into()));
            results.push(("result_burst_count".into(), bursts.bursts.into()));
            results.push(("result_burst_completion_mean_ns".into(), bursts.completion.mean_ns.into()));
        }
        results
    }
}
