//! Server: one sample per query, due at the times of an arrival process, the official one being a Poisson process; the
//! latency runs from the due time.

use super::arrivals::{Arrivals, check, parse};
use super::checks::effective_rate;
use super::error::PlanError;
use super::shape::{Expected, LatencyStart, Layout, Shape, Trigger};
use super::test_settings::{Load, Request, Sanitised, TestSettings, Traffic};
use crate::further_settings::{FurtherKey, Quantity};
use crate::value::Entry;

/// The traffic of Server.
pub(crate) struct Server;

/// The arrival process; a Poisson process unless set.
static ARRIVALS: FurtherKey = FurtherKey {
    name: "arrivals",
    field: "server_arrivals",
    quantity: Quantity::Text(check),
    default: 0.0,
    help: "Arrival process: poisson, constant, gamma:cv=3, burst:size=16,every=500ms, trace:FILE and others.",
};

/// The text of the arrival process; `None` where none is set.
pub fn arrivals_text(settings: &TestSettings) -> Option<&str> {
    settings.further.text(&ARRIVALS)
}

impl Traffic for Server {
    fn shape(&self, _request: &Request<'_>) -> Result<Shape, PlanError> {
        Ok(Shape {
            layout: Layout::One,
            trigger: Trigger::Schedule,
            latency_start: LatencyStart::Due,
            duration_factor: 1,
            group: 1,
        })
    }

    fn keys(&self) -> &'static [&'static FurtherKey] {
        static KEYS: [&FurtherKey; 1] = [&ARRIVALS];
        &KEYS
    }

    fn arrivals(&self, request: &Request<'_>) -> Result<Arrivals, PlanError> {
        let Some(text) = arrivals_text(request.settings) else { return Ok(Arrivals::Poisson) };
        parse(text).map_err(|reason| PlanError::form(ARRIVALS.name, text, reason))
    }

    fn expected(&self) -> Expected {
        Expected::QueryRate
    }

    fn sanitise(&self, request: &Request<'_>, faults: &mut Vec<String>) -> Result<Sanitised, PlanError> {
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

    fn requested(&self, s: &TestSettings) -> Vec<Entry> {
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

    fn load(&self, settings: &TestSettings) -> Option<Load> {
        // A process with rates of its own does not look at the target rate.
        let process = arrivals_text(settings).map(parse);
        let is_turned = process.is_none_or(|process| process.is_ok_and(|process| !process.has_own_rate()));
        let value = settings.server_target_qps;
        is_turned.then_some(Load { setting: "target_qps", value, unit: "queries/s", is_whole: false, has_limit: true })
    }

    fn at_load(&self, settings: &TestSettings, value: f64) -> TestSettings {
        TestSettings { server_target_qps: value, ..settings.clone() }
    }

    fn without_effect(&self, s: &TestSettings) -> Option<String> {
        let threads = s.server_num_issue_query_threads;
        (threads > 1).then(|| {
            format!(
                "server_num_issue_query_threads = {threads} has no effect: one thread issues, with the same schedule \
                 and samples; limits on queries, and merging, are not split over threads"
            )
        })
    }
}
