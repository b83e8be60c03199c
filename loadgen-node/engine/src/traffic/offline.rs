//! Offline: one query with all samples, due at once; every latency runs from the start of the phase.

use super::checks::effective_rate;
use super::error::PlanError;
use super::shape::{Expected, LatencyStart, Layout, Shape, Trigger};
use super::test_settings::{Request, Sanitised, TestSettings, Traffic};
use crate::value::Entry;

/// The traffic of Offline.
pub(crate) struct Offline;

/// The query has this many times the samples that are expected to be processed in the minimum duration.
const SLACK: f64 = 1.1;

impl Traffic for Offline {
    fn shape(&self, _request: &Request<'_>) -> Result<Shape, PlanError> {
        Ok(Shape {
            layout: Layout::WholeSet,
            trigger: Trigger::Room,
            latency_start: LatencyStart::Phase,
            duration_factor: 2,
            group: 1,
        })
    }

    fn expected(&self) -> Expected {
        Expected::SampleRate
    }

    fn sanitise(&self, request: &Request<'_>, faults: &mut Vec<String>) -> Result<Sanitised, PlanError> {
        let s = request.settings;
        let target_qps = effective_rate("offline_expected_qps", s.offline_expected_qps, faults)?;
        let by_duration = ((SLACK * (s.min_duration_ms as f64 / 1000.0)) * target_qps) as u64;
        let samples_per_query = if s.performance_issue_unique {
            request.performance_sample_count
        } else {
            s.min_query_count.max(by_duration)
        };
        Ok(Sanitised {
            samples_per_query,
            target_qps,
            target_latency_ns: 0,
            target_latency_percentile: 0.99,
            max_async_queries: 1,
            target_duration_ms: 0,
            min_query_count: 1,
        })
    }

    fn requested(&self, s: &TestSettings) -> Vec<Entry> {
        vec![("offline_expected_qps".into(), s.offline_expected_qps.into())]
    }
}
