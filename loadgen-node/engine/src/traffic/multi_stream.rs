//! MultiStream: a fixed number of consecutive samples at a time; the next query is issued when all were answered.

use super::checks::check_expected_latency;
use super::error::PlanError;
use super::shape::{Expected, LatencyStart, Layout, Shape, Trigger};
use super::test_settings::{Load, Request, Sanitised, TestSettings, Traffic};
use crate::value::Entry;

/// The traffic of MultiStream.
pub(crate) struct MultiStream;

/// Most samples in a query. Every loaded set is padded by this number, and a query is issued in one piece.
const MAX_SAMPLES_PER_QUERY: u64 = 1 << 24;

impl Traffic for MultiStream {
    fn shape(&self, _request: &Request<'_>) -> Result<Shape, PlanError> {
        Ok(Shape {
            layout: Layout::Window,
            trigger: Trigger::Reply { below: 1 },
            latency_start: LatencyStart::Issue,
            duration_factor: 2,
            group: 1,
        })
    }

    fn expected(&self) -> Expected {
        Expected::Latency
    }

    fn sanitise(&self, request: &Request<'_>, _faults: &mut Vec<String>) -> Result<Sanitised, PlanError> {
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

    fn requested(&self, s: &TestSettings) -> Vec<Entry> {
        vec![
            ("multi_stream_expected_latency_ns".into(), s.multi_stream_expected_latency_ns.into()),
            ("multi_stream_target_latency_percentile".into(), s.multi_stream_target_latency_percentile.into()),
            ("multi_stream_samples_per_query".into(), s.multi_stream_samples_per_query.into()),
        ]
    }

    fn load(&self, settings: &TestSettings) -> Option<Load> {
        let value = settings.multi_stream_samples_per_query as f64;
        // Without a limit no number of samples is too many.
        Some(Load { setting: "samples_per_query", value, unit: "samples", is_whole: true, has_limit: false })
    }

    fn at_load(&self, settings: &TestSettings, value: f64) -> TestSettings {
        TestSettings { multi_stream_samples_per_query: value as u64, ..settings.clone() }
    }
}
