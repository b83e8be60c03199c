//! Server: one sample per query, due at the times of a Poisson process; the latency runs from the due time.

use super::checks::effective_rate;
use super::error::PlanError;
use super::rules::{Request, Sanitised, Traffic};
use super::shape::{Expected, Gap, LatencyStart, Layout, Shape, Trigger};
use crate::requested::Requested;
use crate::value::Entry;

/// The traffic of Server.
pub(crate) struct Server;

impl<S: Clone> Traffic<S> for Server {
    fn shape(&self, _request: &Request<'_, S>) -> Result<Shape, PlanError> {
        Ok(Shape {
            gap: Gap::Poisson,
            layout: Layout::One,
            trigger: Trigger::Schedule,
            latency_start: LatencyStart::Due,
            duration_factor: 1,
        })
    }

    fn expected(&self) -> Expected {
        Expected::QueryRate
    }

    fn sanitise(&self, request: &Request<'_, S>, faults: &mut Vec<String>) -> Result<Sanitised, PlanError> {
        let s = request.settings;
        Ok(Sanitised {
            samples_per_query: 1,
            target_qps: effective_rate("server_target_qps", s.server_target_qps, faults)?,
            target_latency_ns: s.server_target_latency_ns,
            target_latency_percentile: s.server_target_latency_percentile,
            max_async_queries: s.server_max_async_queries,
            target_duration_ms: s.min_duration_ms,
            min_query_count: s.min_query_count,
        })
    }

    fn requested(&self, s: &Requested<S>) -> Vec<Entry> {
        let decimals = i64::from(s.server_find_peak_qps_decimals_of_precision);
        vec![
            ("server_target_qps".into(), s.server_target_qps.into()),
            ("server_target_latency_ns".into(), s.server_target_latency_ns.into()),
            ("server_target_latency_percentile".into(), s.server_target_latency_percentile.into()),
            ("server_coalesce_queries".into(), s.server_coalesce_queries.into()),
            ("server_find_peak_qps_decimals_of_precision".into(), decimals.into()),
            ("server_find_peak_qps_boundary_step_size".into(), s.server_find_peak_qps_boundary_step_size.into()),
            ("server_max_async_queries".into(), s.server_max_async_queries.into()),
            ("server_num_issue_query_threads".into(), s.server_num_issue_query_threads.into()),
        ]
    }

    fn at_rate(&self, settings: &Requested<S>, qps: f64) -> Option<Requested<S>> {
        Some(Requested { server_target_qps: qps, ..settings.clone() })
    }

    fn offered(&self, settings: &Requested<S>) -> Option<(&'static str, f64)> {
        Some(("target_qps", settings.server_target_qps))
    }

    fn without_effect(&self, s: &Requested<S>) -> Option<String> {
        let threads = s.server_num_issue_query_threads;
        (threads > 1).then(|| {
            format!(
                "server_num_issue_query_threads = {threads} has no effect: one thread issues, with the same schedule \
                 and samples; limits on queries, and merging, are not split over threads"
            )
        })
    }
}
