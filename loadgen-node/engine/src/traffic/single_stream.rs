//! SingleStream: one sample at a time; the next query is issued when the one before it was answered.

use super::checks::check_expected_latency;
use super::error::PlanError;
use super::shape::{Expected, LatencyStart, Layout, Shape, Trigger};
use super::test_settings::{Request, Sanitised, TestSettings, Traffic};
use crate::value::Entry;

/// The traffic of SingleStream.
pub(crate) struct SingleStream;

/// Factor on the expected number of queries with equal issue, so that the minimum duration is surely covered.
const EQUAL_ISSUE_SLACK: f64 = 2.0;

impl Traffic for SingleStream {
    fn shape(&self, _request: &Request<'_>) -> Result<Shape, PlanError> {
        Ok(Shape {
            layout: Layout::One,
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
        check_expected_latency("single_stream_expected_latency_ns", s.single_stream_expected_latency_ns)?;
        let target_qps = 1e9 / s.single_stream_expected_latency_ns;
        let mut min_query_count = s.min_query_count;
        if s.sample_concatenate_permutation {
            let by_duration = ((EQUAL_ISSUE_SLACK * (s.min_duration_ms as f64 / 1000.0)) * target_qps) as u64;
            min_query_count = min_query_count.max(by_duration);
            min_query_count = whole_sets(min_query_count, request.qsl.performance)?;
        }
        Ok(Sanitised {
            samples_per_query: 1,
            target_qps,
            target_latency_ns: 0,
            target_latency_percentile: s.single_stream_target_latency_percentile,
            max_async_queries: 1,
            target_duration_ms: s.min_duration_ms,
            min_query_count,
        })
    }

    fn requested(&self, s: &TestSettings) -> Vec<Entry> {
        vec![
            ("single_stream_expected_latency_ns".into(), s.single_stream_expected_latency_ns.into()),
            ("single_stream_target_latency_percentile".into(), s.single_stream_target_latency_percentile.into()),
        ]
    }
}

/// Rounds a number of queries up to whole sets. A number that is already whole gets one set more, as the official
/// LoadGen does.
fn whole_sets(queries: u64, set: u64) -> Result<u64, PlanError> {
    let excess = queries.checked_rem(set).ok_or(PlanError::EmptyLibrary { count: "the performance sample count" })?;
    queries.checked_add(set - excess).ok_or_else(|| PlanError::value("min_query_count", &queries, "far too large"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_of_sets_get_one_more() {
        assert_eq!(whole_sets(60, 31), Ok(62));
        assert_eq!(whole_sets(62, 31), Ok(93));
        assert!(whole_sets(5, 0).is_err());
    }
}
