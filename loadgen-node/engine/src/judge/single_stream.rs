//! SingleStream is compared by an estimate of a latency percentile; it has no limit.

use super::early_stopping::Rule;
use super::headlines::{self, Headlines};
use super::measured::Measured;
use super::rules::{DECREASE_EXPECTED_LATENCY, Judge, JudgedDuration};
use super::summary::{Metric, Rates, Summary};
use crate::value::{Entry, Line, Value};

/// The judging of SingleStream.
pub(crate) struct SingleStream;

impl Judge for SingleStream {
    fn judged_duration(&self, measured: &Measured) -> JudgedDuration {
        JudgedDuration { seconds: measured.final_query_issued_s, advice: DECREASE_EXPECTED_LATENCY }
    }

    fn early_stopping(&self) -> Rule {
        Rule::Estimate { with_99th: true }
    }

    fn metric(&self, _rates: &Rates, estimate_ns: Option<f64>) -> Metric {
        Metric::new("early_stopping_latency_ss", estimate_ns, "ns")
    }
}

impl Headlines for SingleStream {
    fn leading_stats(&self, summary: &Summary) -> Vec<Line> {
        vec![
            ("QPS w/ loadgen overhead         : ".into(), Value::Fixed(summary.rates.qps_with_overhead)),
            ("QPS w/o loadgen overhead        : ".into(), Value::Fixed(summary.rates.qps_without_overhead)),
            headlines::empty_line(),
        ]
    }

    fn leading_token_stats(&self, summary: &Summary) -> Vec<Line> {
        let Some(tokens) = &summary.tokens else { return Vec::new() };
        vec![
            ("TPS w/ loadgen overhead         : ".into(), Value::Fixed(tokens.tps_with_overhead)),
            ("TPS w/o loadgen overhead        : ".into(), Value::Fixed(tokens.tps_without_overhead)),
        ]
    }

    fn results(&self, summary: &Summary) -> Vec<Entry> {
        let judgement = summary.early_stopping.reported();
        vec![
            ("result_qps_with_loadgen_overhead".into(), summary.rates.qps_with_overhead.into()),
            ("result_qps_without_loadgen_overhead".into(), summary.rates.qps_without_overhead.into()),
            ("early_stopping_latency_ss".into(), judgement.estimate_ns.into()),
            ("early_stopping_latency_ms".into(), judgement.estimate_99th_ns.into()),
        ]
    }
}
