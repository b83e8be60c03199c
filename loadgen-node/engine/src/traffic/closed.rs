//! Scenario Closed: a fixed number of users. Each issues a query, awaits its answer, thinks, and issues the next one.

use super::error::PlanError;
use super::shape::{Expected, LatencyStart, Layout, Shape, Trigger};
use super::test_settings::{Load, Request, Sanitised, TestSettings, Traffic};
use crate::further_settings::{FurtherKey, FurtherValue, Quantity};

/// The traffic of Closed.
pub(crate) struct Closed;

/// Number of users.
static CONCURRENCY: FurtherKey = FurtherKey {
    name: "concurrency",
    field: "closed_concurrency",
    quantity: Quantity::Count { least: 1, most: 1 << 20 },
    default: 8.0,
    help: "Queries in flight: the number of users that each await an answer before the next query.",
};

/// Time between an answer and the next query of a user.
static THINK_TIME: FurtherKey = FurtherKey {
    name: "think_time",
    field: "closed_think_time_ns",
    quantity: Quantity::Time,
    default: 0.0,
    help: "Time between an answer and the next query of the same user.",
};

/// Limit of the latency.
static LIMIT: FurtherKey = FurtherKey {
    name: "target_latency",
    field: "closed_target_latency_ns",
    quantity: Quantity::Time,
    default: 0.0,
    help: "Limit of the judged percentile of the latency; 0: no limit.",
};

/// The judged percentile.
static PERCENTILE: FurtherKey = FurtherKey {
    name: "target_latency_percentile",
    field: "closed_target_latency_percentile",
    quantity: Quantity::Percentile,
    default: 0.99,
    help: "The judged percentile of the latency.",
};

/// Highest rate that a run can come to.
static MOST_QPS: FurtherKey = FurtherKey {
    name: "most_qps",
    field: "closed_most_qps",
    quantity: Quantity::PerSecond,
    default: 50_000.0,
    help: "Highest rate that the run can come to, queries per second: room for the records of so many is made.",
};

impl Traffic for Closed {
    fn shape(&self, request: &Request<'_>) -> Result<Shape, PlanError> {
        let further = &request.settings.further;
        let trigger = Trigger::Users { count: further.whole(&CONCURRENCY), think_ns: further.whole(&THINK_TIME) };
        Ok(Shape { layout: Layout::One, trigger, latency_start: LatencyStart::Issue, duration_factor: 1, group: 1 })
    }

    fn keys(&self) -> &'static [&'static FurtherKey] {
        static KEYS: [&FurtherKey; 5] = [&CONCURRENCY, &THINK_TIME, &LIMIT, &PERCENTILE, &MOST_QPS];
        &KEYS
    }

    fn expected(&self) -> Expected {
        Expected::MostQps
    }

    fn sanitise(&self, request: &Request<'_>, _faults: &mut Vec<String>) -> Result<Sanitised, PlanError> {
        let s = request.settings;
        let (users, think_ns) = (s.further.whole(&CONCURRENCY), s.further.whole(&THINK_TIME));
        // Users that think cannot ask more often than that.
        let by_thinking = users as f64 * 1e9 / think_ns.max(1) as f64;
        Ok(Sanitised {
            samples_per_query: 1,
            target_qps: s.further.real(&MOST_QPS).min(by_thinking),
            target_latency_ns: s.further.whole(&LIMIT),
            target_latency_percentile: s.further.real(&PERCENTILE),
            max_async_queries: users,
            target_duration_ms: s.min_duration_ms,
            min_query_count: s.min_query_count,
        })
    }

    fn load(&self, settings: &TestSettings) -> Option<Load> {
        let value = settings.further.whole(&CONCURRENCY) as f64;
        // Without a limit no number of users is too many.
        let has_limit = settings.further.whole(&LIMIT) > 0;
        Some(Load { setting: CONCURRENCY.name, value, unit: "users", is_whole: true, has_limit })
    }

    fn at_load(&self, settings: &TestSettings, value: f64) -> TestSettings {
        let mut settings = settings.clone();
        settings.further.set(&CONCURRENCY, FurtherValue::Whole(value as u64));
        settings
    }
}
