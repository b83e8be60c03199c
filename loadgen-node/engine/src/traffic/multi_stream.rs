//! MultiStream: a fixed number of consecutive samples at a time; the next query is issued when all were answered.

use super::{Entry, Gap, Layout, Line, Pacing, Rules, Traffic, check_expected_latency};
use crate::early_stopping::Rule;
use crate::plan::{Effective, PlanError, Request, Sanitised};
use crate::report::Value;
use crate::results::Measured;
use crate::settings::TestSettings;
use crate::summary::{Metric, PERCENTILES, Summary};

pub(super) struct MultiStream;

/// Most samples in a query: it is padded onto every set and issued in one piece.
const MAX_SAMPLES_PER_QUERY: u64 = 1 << 24;

impl Rules for MultiStream {
    fn sanitise(&self, request: Request<'_>, _faults: &mut Vec<String>) -> Result<Sanitised, PlanError> {
        let s = request.settings;
        check_expected_latency("multi_stream_expected_latency_ns", s.multi_stream_expected_latency_ns)?;
        let samples_per_query = s.multi_stream_samples_per_query;
        if !(1..=MAX_SAMPLES_PER_QUERY).contains(&samples_per_query) {
            let setting = "multi_stream_samples_per_query";
            return Err(PlanError::value(setting, &samples_per_query, "from 1 to 16777216"));
        }
        Ok(Sanitised {
            samples_per_query,
            target_qps: 1e9 / s.multi_stream_expected_latency_ns,
            target_latency_ns: 0,
            target_latency_percentile: s.multi_stream_target_latency_percentile,
            max_async_queries: 1,
            target_duration_ms: s.min_duration_ms,
            min_query_count: s.min_query_count,
        })
    }

    fn traffic(&self) -> Traffic {
        Traffic { gap: Gap::Constant, layout: Layout::Window, duration_factor: 2 }
    }

    fn pacing(&self) -> Pacing {
        Pacing::Reply
    }

    fn set_padding(&self, effective: &Effective) -> u64 {
        effective.samples_per_query - 1
    }

    fn requested(&self, s: &TestSettings) -> Vec<Entry> {
        vec![
            ("multi_stream_expected_latency_ns".into(), s.multi_stream_expected_latency_ns.into()),
            ("multi_stream_target_latency_percentile".into(), s.multi_stream_target_latency_percentile.into()),
            ("multi_stream_samples_per_query".into(), s.multi_stream_samples_per_query.into()),
        ]
    }

    fn judged_duration(&self, measured: &Measured) -> (f64, &'static str) {
        (measured.final_query_issued_s, super::DECREASE_EXPECTED_LATENCY)
    }

    fn early_stopping(&self) -> Rule {
        Rule::Estimate { with_99th: false }
    }

    fn metric(&self, summary: &Summary) -> Metric {
        Metric::new("early_stopping_latency_ms", summary.estimate_ns(), "ns")
    }

    fn headline(&self, summary: &Summary) -> Line {
        super::percentile_headline(summary)
    }

    fn token_headline(&self, summary: &Summary) -> Line {
        super::first_token_headline(summary)
    }

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
        entries.push(("early_stopping_latency_ms".into(), summary.final_judgement().estimate_ns.into()));
        entries
    }
}
