//! MultiStream is compared by an estimate of a percentile of the queries' latencies; it has no limit.

use super::early_stopping::Rule;
use super::headlines::Headlines;
use super::measured::Measured;
use super::rules::{DECREASE_EXPECTED_LATENCY, Judge, JudgedDuration};
use super::stats::PERCENTILES;
use super::summary::{Metric, Rates, Summary};
use crate::value::{Entry, Line, Value};

/// The judging of MultiStream.
pub(crate) struct MultiStream;

impl Judge for MultiStream {
    fn judged_duration(&self, measured: &Measured) -> JudgedDuration {
        JudgedDuration { seconds: measured.final_query_issued_s, advice: DECREASE_EXPECTED_LATENCY }
    }

    fn early_stopping(&self) -> Rule {
        Rule::Estimate { with_99th: false }
    }

    fn metric(&self, _rates: &Rates, estimate_ns: Option<f64>) -> Metric {
        Metric::new("early_stopping_latency_ms", estimate_ns, "ns")
    }
}

impl Headlines for MultiStream {
    fn leading_stats(&self, _summary: &Summary) -> Vec<Line> {
        vec![("Per-query latency:  ".into(), Value::from(""))]
    }

    fn results(&self, summary: &Summary) -> Vec<Entry> {
        let query = summary.judged_latency();
        let mut entries: Vec<Entry> = vec![
            ("result_min_query_latency_ns".into(), query.min_ns.into()),
            ("result_max_query_latency_ns".into(), query.max_ns.into()),
            ("result_mean_query_latency_ns".into(), query.mean_ns.into()),
        ];
        for (fraction, ns) in PERCENTILES.iter().zip(query.percentiles_ns) {
            entries.push((format!("result_{:.2}_percentile_per_query_latency_ns", fraction * 100.0), ns.into()));
        }
        entries.push(("early_stopping_latency_ms".into(), summary.early_stopping.reported().estimate_ns.into()));
        entries
    }
}
